package guest

import "gitops-agent/reconcile/guest/form"

// Privileges for configuration keys.
//
// Source: PVE::API2::Qemu, PVE::LXC check_ct_modify_config_perm.
const (
	configCPU       = "VM.Config.CPU"
	configMemory    = "VM.Config.Memory"
	configHardware  = "VM.Config.HWType"
	configOptions   = "VM.Config.Options"
	configNetwork   = "VM.Config.Network"
	configDisk      = "VM.Config.Disk"
	configCloudInit = "VM.Config.Cloudinit"
)

// vmRows are the keys of virtual machines that are not devices. The effects follow vmconfig_hotplug_pending in qemu-server's QemuServer.pm.
var vmRows = []row{
	{key: "name", scalar: asName, effect: atOnce, cost: nameRule, unlisted: unlistedInDrive, privilege: configOptions},
	{key: "description", scalar: asNotes, effect: atOnce, privilege: configOptions},
	{key: "tags", scalar: asTags, effect: atOnce, privilege: configOptions},
	{key: "onboot", scalar: yesNo, absentValue: "0", effect: atOnce, privilege: configOptions},
	{key: "protection", scalar: yesNo, absentValue: "0", effect: atOnce, cost: protectionRule, privilege: configOptions},
	{key: "startup", syntax: startupSyntax, effect: atOnce, privilege: configOptions + ", Sys.Modify on /"},
	{key: "hookscript", scalar: asVolume, effect: atOnce, rootOnly: true},
	{key: "template", scalar: yesNo, absentValue: "0", effect: never},
	{key: "lock", scalar: anyText, effect: never, rootOnly: true},

	{key: "cores", scalar: whole(1, 0), absentValue: "1", effect: atStart, privilege: configCPU},
	{key: "sockets", scalar: whole(1, 0), absentValue: "1", effect: atStart, privilege: configCPU},
	{key: "vcpus", scalar: whole(1, 0), effect: plugCPU, privilege: configCPU},
	{key: "smp", scalar: anyText, effect: never, instead: "sockets"},
	{key: "cpu", syntax: cpuSyntax, absentValue: "kvm64", effect: atStart, cost: bootRule, privilege: configCPU},
	{key: "cpulimit", scalar: fraction(0, 128), absentValue: "0", effect: atOnce, privilege: configCPU},
	{key: "cpuunits", scalar: scalar{Form: form.Weight, Min: 1, Max: 262144}, absentValue: "100", effect: atOnce, privilege: configCPU},
	{key: "affinity", scalar: scalar{Form: form.Ranges, Separator: ","}, effect: atStart, rootOnly: true},
	{key: "numa", scalar: yesNo, absentValue: "0", effect: atStart, privilege: configCPU},
	{key: "numa", slots: 8, syntax: numaSyntax, device: true, effect: atStart, privilege: configCPU},

	{key: "memory", syntax: memorySyntax, absentValue: "512", effect: plugMemory, cost: memoryRule, privilege: configMemory},
	{key: "balloon", scalar: whole(0, 0), effect: atOnce, cost: balloonRule, privilege: configMemory},
	{key: "shares", scalar: whole(0, 50000), absentValue: "1000", effect: atOnce, privilege: configMemory},
	{key: "hugepages", scalar: oneOf("any", "2", "1024"), effect: atStart, rootOnly: true},
	{key: "keephugepages", scalar: yesNo, absentValue: "0", effect: atStart, rootOnly: true},
	{key: "allow-ksm", scalar: yesNo, absentValue: "1", effect: atStart, privilege: configMemory, releases: since91},

	{key: "agent", syntax: agentSyntax, absentValue: "0", effect: atStart, cost: agentRule, privilege: configOptions},
	{key: "ostype", scalar: oneOf("other", "wxp", "w2k", "w2k3", "w2k8", "wvista", "win7", "win8", "win10", "win11", "l24", "l26", "solaris"), absentValue: "other", effect: atStart, privilege: configOptions},
	{key: "boot", syntax: bootSyntax, effect: atStart, privilege: configDisk},
	{key: "bootdisk", scalar: anyText, effect: atStart, privilege: configDisk},
	{key: "bios", scalar: oneOf("seabios", "ovmf"), absentValue: "seabios", effect: atStart, cost: bootRule, privilege: configOptions},
	{key: "machine", syntax: machineSyntax, absentValue: "pc", effect: atStart, cost: bootRule, privilege: configHardware},
	{key: "scsihw", scalar: oneOf("lsi", "lsi53c810", "virtio-scsi-pci", "virtio-scsi-single", "megasas", "pvscsi"), absentValue: "lsi", effect: atStart, cost: bootRule, privilege: configHardware},
	{key: "arch", scalar: oneOf("x86_64", "aarch64"), effect: atStart, rootOnly: true},
	{key: "hotplug", scalar: scalar{Form: form.Hotplug, Words: []string{"network", "disk", "usb", "memory", "cpu", "cloudinit"}}, absentValue: "1", effect: atOnce, cost: hotplugRule, privilege: configHardware},
	{key: "vga", syntax: vgaSyntax, absentValue: "std", effect: atStart, privilege: configHardware},
	{key: "tablet", scalar: yesNo, absentValue: "1", effect: plugUSB, privilege: configHardware},
	{key: "keyboard", scalar: oneOf("de", "de-ch", "da", "en-gb", "en-us", "es", "fi", "fr", "fr-be", "fr-ca", "fr-ch", "hu", "is", "it", "ja", "lt", "mk", "nl", "no", "pl", "pt", "pt-br", "sv", "sl", "tr"), effect: atStart, privilege: configOptions},
	{key: "acpi", scalar: yesNo, absentValue: "1", effect: atStart, privilege: configHardware},
	{key: "kvm", scalar: yesNo, absentValue: "1", effect: atStart, privilege: configHardware},
	{key: "localtime", scalar: yesNo, effect: atStart, privilege: configOptions},
	{key: "freeze", scalar: yesNo, absentValue: "0", effect: atStart, privilege: "VM.PowerMgmt"},
	{key: "autostart", scalar: yesNo, absentValue: "0", effect: atStart, privilege: configOptions},
	{key: "reboot", scalar: yesNo, absentValue: "1", effect: atStart, privilege: configOptions},
	{key: "tdf", scalar: yesNo, absentValue: "0", effect: atStart, privilege: configOptions},
	{key: "startdate", scalar: anyText, absentValue: "now", effect: atStart, privilege: configOptions},
	{key: "migrate_downtime", scalar: fraction(0, 0), absentValue: "0.1", effect: atOnce, privilege: configOptions},
	{key: "migrate_speed", scalar: whole(0, 0), absentValue: "0", effect: atOnce, privilege: configOptions},
	{key: "vmstatestorage", scalar: anyText, effect: atOnce, privilege: configDisk},
	{key: "smbios1", syntax: smbiosSyntax, effect: atStart, privilege: configHardware},
	{key: "args", scalar: anyText, effect: atStart, rootOnly: true},
	{key: "spice_enhancements", syntax: spiceSyntax, effect: atStart, rootOnly: true},
	{key: "amd-sev", syntax: sevSyntax, effect: atStart, rootOnly: true},
	{key: "intel-tdx", syntax: tdxSyntax, effect: atStart, rootOnly: true, releases: since91},

	{key: "citype", scalar: oneOf("nocloud", "configdrive2", "opennebula"), effect: atOnce, cost: cloudInitRule, unlisted: unlistedInDrive, privilege: configCloudInit},
	{key: "ciuser", scalar: anyText, effect: atOnce, cost: cloudInitRule, unlisted: unlistedInDrive, privilege: configCloudInit},
	{key: "cipassword", scalar: asSecret, effect: atOnce, cost: cloudInitRule, unlisted: unlistedInDrive, privilege: configCloudInit},
	{key: "ciupgrade", scalar: yesNo, absentValue: "1", effect: atOnce, cost: cloudInitRule, unlisted: unlistedInDrive, privilege: configCloudInit},
	{key: "cicustom", syntax: customSyntax, effect: atOnce, cost: cloudInitRule, unlisted: unlistedInDrive, privilege: configCloudInit},
	{key: "sshkeys", scalar: scalar{Form: form.Keys}, effect: atOnce, cost: cloudInitRule, unlisted: unlistedInDrive, privilege: configCloudInit},
	{key: "nameserver", scalar: scalar{Form: form.List, Separator: " "}, effect: atOnce, cost: cloudInitRule, unlisted: unlistedInDrive, privilege: configCloudInit},
	{key: "searchdomain", scalar: scalar{Form: form.List, Separator: " "}, effect: atOnce, cost: cloudInitRule, unlisted: unlistedInDrive, privilege: configCloudInit},
	{key: "ipconfig", slots: 32, syntax: ipconfigSyntax, absentValue: "ip=dhcp", effect: atOnce, cost: cloudInitRule, unlisted: unlistedInDrive, privilege: configCloudInit},
}
