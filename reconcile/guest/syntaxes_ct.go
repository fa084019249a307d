package guest

import "gitops-agent/reconcile/guest/form"

var (
	vethSyntax = &syntax{subs: []sub{
		{name: "name", required: true},
		{name: "hwaddr", scalar: asMAC, owned: true},
		{name: "type", scalar: oneOf("veth"), absentValue: "veth", owned: true},
		{name: "bridge"},
		{name: "tag", scalar: whole(1, 4094)},
		{name: "trunks", scalar: asSet},
		{name: "firewall", scalar: yesNo, absentValue: "0"},
		{name: "link_down", scalar: yesNo, absentValue: "0"},
		{name: "rate", scalar: fraction(0, 0), absentValue: "0"},
		{name: "mtu", scalar: whole(64, 65535)},
		{name: "ip", scalar: asNetwork},
		{name: "gw", scalar: asAddress},
		{name: "ip6", scalar: asNetwork},
		{name: "gw6", scalar: asAddress},
		{name: "host-managed", scalar: yesNo, absentValue: "0", releases: since91},
	}}
	passSyntax = &syntax{bare: "path", anyOf: []string{"path"}, subs: []sub{
		{name: "path"},
		{name: "mode"},
		{name: "uid", scalar: whole(0, 0)},
		{name: "gid", scalar: whole(0, 0)},
		{name: "deny-write", scalar: yesNo, absentValue: "0"},
	}}
	rootSyntax  = volumeSyntax()
	mountSyntax = volumeSyntax(sub{name: "mp", required: true}, sub{name: "backup", scalar: yesNo, absentValue: "0"},
		sub{name: "keepattrs", scalar: yesNo, absentValue: "0", releases: since91})
)

// volumeSyntax returns the syntax of a container's volumes.
func volumeSyntax(added ...sub) *syntax {
	subs := []sub{
		subVolume,
		{name: "size", scalar: asSize, owned: true},
		{name: "acl", scalar: yesNo},
		{name: "quota", scalar: yesNo, absentValue: "0"},
		{name: "replicate", scalar: yesNo, absentValue: "1"},
		{name: "ro", scalar: yesNo, absentValue: "0"},
		{name: "shared", scalar: yesNo, absentValue: "0"},
		{name: "mountoptions", scalar: scalar{Form: form.Set, Words: []string{"discard", "lazytime", "noatime", "nodev", "noexec", "nosuid"}}},
		{name: "idmap", scalar: asList, releases: since91},
	}
	return &syntax{style: driveStyle, bare: "volume", alias: driveAlias, subs: append(subs, added...)}
}
