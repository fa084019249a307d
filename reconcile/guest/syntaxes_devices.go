package guest

import "gitops-agent/reconcile/guest/form"

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

var (
	usbSyntax = &syntax{bare: "host", anyOf: []string{"host", "mapping"}, subs: []sub{
		{name: "host", scalar: scalar{Form: form.USB}}, {name: "mapping", scalar: asMapping}, {name: "usb3", scalar: yesNo, absentValue: "0"},
	}}
	pciSyntax = &syntax{bare: "host", anyOf: []string{"host", "mapping"}, subs: []sub{
		{name: "host", scalar: scalar{Form: form.PCI}},
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
