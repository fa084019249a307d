package guest

import "gitops-agent/reconcile/guest/form"

// vmDeviceRows are the devices of virtual machines that are not drives, and the keys that only Proxmox writes.
var vmDeviceRows = []row{
	{key: "net", slots: 32, syntax: cardSyntax, device: true, effect: plugNetwork, cost: cardRule, unlisted: unlistedAddress, privilege: configNetwork},
	{key: "serial", slots: 4, scalar: asPort, device: true, effect: atStart, blocks: notHostSerial, privilege: configHardware},
	{key: "parallel", slots: 3, scalar: asPort, device: true, effect: atStart, rootOnly: true},
	{key: "usb", slots: 14, syntax: usbSyntax, device: true, effect: plugUSB, cost: usbRule, blocks: notHostUSB, privilege: configHardware},
	{key: "hostpci", slots: 16, syntax: pciSyntax, device: true, effect: atStart, blocks: notHostPCI, privilege: configHardware},
	{key: "virtiofs", slots: 10, syntax: virtiofsSyntax, device: true, effect: atStart, privilege: configDisk},
	{key: "rng0", syntax: rngSyntax, device: true, effect: atStart, privilege: configHardware},
	{key: "audio0", syntax: audioSyntax, device: true, effect: atStart, privilege: configHardware},
	{key: "watchdog", syntax: watchdogSyntax, device: true, effect: atStart, privilege: configHardware},
	{key: "ivshmem", syntax: ivshmemSyntax, device: true, effect: atStart, rootOnly: true},

	{key: "unused", slots: 256, scalar: asVolume, device: true, cost: unusedRule, blocks: notWanted, privilege: configDisk},
	{key: "vmgenid", scalar: scalar{Form: form.Generated}, effect: atStart, rootOnly: true},
	{key: "meta", scalar: anyText, effect: never},
	{key: "digest", scalar: anyText, effect: never},
	{key: "parent", scalar: anyText, effect: never},
	{key: "snaptime", scalar: anyText, effect: never},
	{key: "snapstate", scalar: anyText, effect: never},
	{key: "vmstate", scalar: asVolume, effect: never},
	{key: "runningmachine", scalar: anyText, effect: never},
	{key: "runningcpu", scalar: anyText, effect: never},
	{key: "running-nets-host-mtu", scalar: anyText, effect: never, releases: since91},
}

// vmDriveRows are the drives of virtual machines, with as many slots as Proxmox has: there is no scsi31.
var vmDriveRows = []row{
	{key: "scsi", slots: 31, syntax: scsiSyntax, drive: true, device: true, effect: plugDisk, unlisted: unlistedOptions, privilege: configDisk},
	{key: "virtio", slots: 16, syntax: virtioSyntax, drive: true, device: true, effect: plugDisk, unlisted: unlistedOptions, privilege: configDisk},
	{key: "sata", slots: 6, syntax: sataSyntax, drive: true, device: true, effect: atStart, unlisted: unlistedOptions, privilege: configDisk},
	{key: "ide", slots: 4, syntax: ideSyntax, drive: true, device: true, effect: atStart, unlisted: unlistedOptions, privilege: configDisk},
	{key: "cdrom", scalar: anyText, effect: never, instead: "ide2"},
	{key: "efidisk0", syntax: efiSyntax, drive: true, device: true, effect: atStart, privilege: configDisk},
	{key: "tpmstate0", syntax: tpmSyntax, drive: true, device: true, effect: atStart, privilege: configDisk},
}
