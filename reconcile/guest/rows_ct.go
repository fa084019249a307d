package guest

import "gitops-agent/reconcile/guest/form"

// ctRows are the keys of containers that are not devices. The effects follow vmconfig_hotplug_pending in pve-container's LXC/Config.pm.
var ctRows = []row{
	{key: "hostname", scalar: asName, effect: atStart, unlisted: unlistedText, privilege: configNetwork},
	{key: "description", scalar: asNotes, effect: atOnce, privilege: configOptions},
	{key: "tags", scalar: asTags, effect: atOnce, privilege: configOptions},
	{key: "onboot", scalar: yesNo, absentValue: "0", effect: atOnce, privilege: configOptions},
	{key: "protection", scalar: yesNo, absentValue: "0", effect: atOnce, cost: protectionRule, privilege: configOptions},
	{key: "startup", syntax: startupSyntax, effect: atOnce, privilege: configOptions + ", Sys.Modify on /"},
	{key: "hookscript", scalar: asVolume, effect: atOnce, rootOnly: true},
	{key: "template", scalar: yesNo, absentValue: "0", effect: never},
	{key: "lock", scalar: anyText, effect: never},

	{key: "cores", scalar: whole(1, 8192), effect: atOnce, privilege: configCPU},
	{key: "cpulimit", scalar: fraction(0, 8192), absentValue: "0", effect: atOnce, privilege: configCPU},
	{key: "cpuunits", scalar: scalar{Form: form.Weight, Max: 500000}, absentValue: "100", effect: atOnce, privilege: configCPU},
	{key: "memory", scalar: whole(16, 0), absentValue: "512", required: true, effect: atOnce, cost: shrinkRule, privilege: configMemory},
	// Without the key a container has no swap, although the schema has another default.
	{key: "swap", scalar: whole(0, 0), absentValue: "0", effect: atOnce, cost: shrinkRule, privilege: configMemory},

	{key: "ostype", scalar: oneOf("debian", "devuan", "ubuntu", "centos", "fedora", "opensuse", "archlinux", "alpine", "gentoo", "nixos", "unmanaged"), effect: atStart, privilege: configOptions},
	{key: "arch", scalar: oneOf("amd64", "i386", "arm64", "armhf", "riscv32", "riscv64"), effect: atStart, privilege: configOptions},
	{key: "unprivileged", scalar: yesNo, absentValue: "0", effect: atCreate},
	{key: "features", syntax: featuresSyntax, effect: atStart, blocks: notRootFeatures, privilege: "VM.Allocate"},
	{key: "nameserver", scalar: scalar{Form: form.List, Item: form.Address, Separator: " "}, effect: atStart, privilege: configNetwork},
	{key: "searchdomain", scalar: scalar{Form: form.List, Item: form.Name, Separator: " "}, effect: atStart, privilege: configNetwork},
	{key: "timezone", scalar: anyText, effect: atStart, privilege: configOptions},
	{key: "console", scalar: yesNo, absentValue: "1", effect: atStart, privilege: configOptions},
	{key: "cmode", scalar: oneOf("tty", "console", "shell"), absentValue: "tty", effect: atStart, privilege: configOptions},
	{key: "tty", scalar: whole(0, 6), absentValue: "2", effect: atStart, privilege: configOptions},
	{key: "debug", scalar: yesNo, absentValue: "0", effect: atStart, privilege: configOptions},
	{key: "entrypoint", scalar: anyText, absentValue: "/sbin/init", effect: atStart, privilege: configOptions, releases: since91},
	{key: "env", scalar: scalar{Form: form.Environ}, effect: atStart, privilege: configOptions, releases: since91},
	{key: "lxc", scalar: anyText, effect: never},

	{key: "password", scalar: asSecret, once: true, effect: atCreate},
	{key: "ssh-public-keys", scalar: anyText, once: true, effect: atCreate},

	{key: "digest", scalar: anyText, effect: never},
	{key: "parent", scalar: anyText, effect: never},
	{key: "snaptime", scalar: anyText, effect: never},
	{key: "snapstate", scalar: anyText, effect: never},
}

// ctDeviceRows are the devices of containers.
var ctDeviceRows = []row{
	{key: "net", slots: 32, syntax: vethSyntax, device: true, effect: atOnce, cost: vethRule, unlisted: unlistedLink, privilege: configNetwork},
	{key: "rootfs", syntax: rootSyntax, drive: true, device: true, required: true, effect: atStart, privilege: configDisk},
	{key: "mp", slots: 256, syntax: mountSyntax, drive: true, device: true, effect: atOnce, privilege: configDisk},
	{key: "dev", slots: 256, syntax: passSyntax, device: true, effect: atStart, rootOnly: true},
	{key: "unused", slots: 256, scalar: asVolume, device: true, cost: unusedRule, blocks: notWanted, privilege: configDisk},
}
