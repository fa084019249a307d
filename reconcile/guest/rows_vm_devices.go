package guest

import "slices"

// vmDeviceRows are the devices of virtual machines that are not drives, and the keys that only Proxmox writes.
var vmDeviceRows = []row{
	{key: "net", slots: 32, syntax: cardSyntax, device: true, effect: plugNetwork, cost: cardRule, privilege: configNetwork},
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
	{key: "vmgenid", scalar: scalar{form: generatedForm}, effect: atStart, rootOnly: true},
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
	{key: "scsi", slots: 31, syntax: scsiSyntax, drive: true, device: true, effect: plugDisk, privilege: configDisk},
	{key: "virtio", slots: 16, syntax: virtioSyntax, drive: true, device: true, effect: plugDisk, privilege: configDisk},
	{key: "sata", slots: 6, syntax: sataSyntax, drive: true, device: true, effect: atStart, privilege: configDisk},
	{key: "ide", slots: 4, syntax: ideSyntax, drive: true, device: true, effect: atStart, privilege: configDisk},
	{key: "cdrom", scalar: anyText, effect: never, instead: "ide2"},
	{key: "efidisk0", syntax: efiSyntax, drive: true, device: true, effect: atStart, privilege: configDisk},
	{key: "tpmstate0", syntax: tpmSyntax, drive: true, device: true, effect: atStart, privilege: configDisk},
}

// Proxmox generates the MAC address of a card: a card that is written without one gets a new address each time.
var cardSyntax = &syntax{style: nicStyle, bare: "model", subs: []sub{
	{name: "model", scalar: oneOf(cardModels...), required: true},
	{name: "macaddr", scalar: asMAC, owned: true},
	{name: "bridge"},
	{name: "tag", scalar: whole(1, 4094)},
	{name: "trunks", scalar: asRanges},
	{name: "firewall", scalar: yesNo, absentValue: "0"},
	{name: "link_down", scalar: yesNo, absentValue: "0"},
	{name: "rate", scalar: fraction(0, 0), absentValue: "0"},
	{name: "queues", scalar: whole(0, 64), absentValue: "0"},
	{name: "mtu", scalar: whole(1, 65520)},
	{name: "host-tunnel", scalar: yesNo, absentValue: "0", releases: since92},
}}

var cardModels = []string{
	"virtio", "e1000", "e1000e", "rtl8139", "vmxnet3", "e1000-82540em", "e1000-82544gc", "e1000-82545em",
	"i82551", "i82557b", "i82559er", "ne2k_isa", "ne2k_pci", "pcnet",
}

// isCardModel is called for every sub-key of every card, so it first checks the most frequent names.
func isCardModel(name string) bool {
	switch name {
	case "virtio":
		return true
	case "bridge", "firewall", "tag", "macaddr", "model":
		return false
	}
	return slices.Contains(cardModels, name)
}

var (
	usbSyntax = &syntax{bare: "host", anyOf: []string{"host", "mapping"}, subs: []sub{
		{name: "host", scalar: scalar{form: usbForm}}, {name: "mapping", scalar: asMapping}, {name: "usb3", scalar: yesNo, absentValue: "0"},
	}}
	pciSyntax = &syntax{bare: "host", anyOf: []string{"host", "mapping"}, subs: []sub{
		{name: "host", scalar: scalar{form: pciForm}},
		{name: "mapping", scalar: asMapping},
		{name: "mdev"},
		{name: "romfile"},
		{name: "pcie", scalar: yesNo, absentValue: "0"},
		{name: "x-vga", scalar: yesNo, absentValue: "0"},
		{name: "rombar", scalar: yesNo, absentValue: "1"},
		{name: "legacy-igd", scalar: yesNo, absentValue: "0"},
		{name: "vendor-id", scalar: asHex},
		{name: "device-id", scalar: asHex},
		{name: "sub-vendor-id", scalar: asHex},
		{name: "sub-device-id", scalar: asHex},
		{name: "driver", scalar: oneOf("vfio", "keep"), absentValue: "vfio", releases: since91},
	}}
	virtiofsSyntax = &syntax{bare: "dirid", subs: []sub{
		{name: "dirid", scalar: asMapping, required: true},
		{name: "cache", scalar: oneOf("auto", "always", "metadata", "never"), absentValue: "auto"},
		{name: "direct-io", scalar: yesNo, absentValue: "0"},
		{name: "expose-acl", scalar: yesNo, absentValue: "0"},
		{name: "expose-xattr", scalar: yesNo, absentValue: "0"},
	}}
	rngSyntax = &syntax{bare: "source", subs: []sub{
		{name: "source", scalar: oneOf("/dev/urandom", "/dev/random", "/dev/hwrng"), required: true},
		{name: "max_bytes", scalar: whole(0, 0), absentValue: "1024"},
		{name: "period", scalar: whole(0, 0), absentValue: "1000"},
	}}
	audioSyntax = &syntax{subs: []sub{
		{name: "device", scalar: oneOf("ich9-intel-hda", "intel-hda", "AC97"), required: true},
		{name: "driver", scalar: oneOf("spice", "none"), absentValue: "spice"},
	}}
	watchdogSyntax = &syntax{bare: "model", subs: []sub{
		{name: "model", scalar: oneOf("i6300esb", "ib700"), absentValue: "i6300esb"},
		{name: "action", scalar: oneOf("reset", "shutdown", "poweroff", "pause", "debug", "none"), absentValue: "reset"},
	}}
	ivshmemSyntax = &syntax{subs: []sub{{name: "size", scalar: whole(1, 0), required: true}, {name: "name"}}}
)
