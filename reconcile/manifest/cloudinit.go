package manifest

import (
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// cloudInit is what cloud-init sets up inside a virtual machine.
type cloudInit struct {
	storage, slot, user, kind opt[string]
	onChange                  opt[string]
	passwordFrom              opt[secretRef]
	sshKeys                   textList
	ip                        map[string]*opt[ipConfig]
	dns                       dns
	upgrade                   opt[bool]
	custom                    snippets
}

func (c *cloudInit) fields() []field {
	return []field{
		{"storage", "", "Storage for the drive that contains the settings. Leave it out if the template has the drive.", text(&c.storage, storageName)},
		{"slot", "", "Slot of the drive. Default: ide2.", slotName(&c.slot, diskSlots)},
		{"type", "citype", "Format of the settings. Default: depends on the operating system.", nativeChoice(&c.kind, "citype", "")},
		{"user", "ciuser", "User to set up in place of the user of the image.", text(&c.user, userName)},
		{"passwordFrom", "cipassword", "The user's password, kept on the agent's host or encrypted in the repository.", withExamples(child(&c.passwordFrom), `{"file": "web-password"}`)},
		{"sshKeys", "sshkeys", "Public keys that may log in, as a set.", withExamples(byHand(list(&c.sshKeys, sshKey, "")), `["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMEXsBt6JGhURlK36Rj2dZ3oVIHElPKYsEQc2G4E2+QK ops@home"]`)},
		{"ip", "ipconfig", "Addresses by network slot.", withExamples(slots(&c.ip, networkSlots), `{"net0": {"v4": "10.0.20.11/24", "gw4": "10.0.20.1"}}`, `{"net0": {"v4": "dhcp"}}`)},
		{"dns", "", "Name servers. Default: those of the node on which the guest starts. With others, as after a move, it is a new machine for cloud-init.", group(&c.dns)},
		{"upgrade", "ciupgrade", "Upgrade packages at the first boot.", flag(&c.upgrade)},
		{"custom", "", "Files that replace the files that Proxmox generates. The agent does not detect changes in these files.", group(&c.custom)},
		{"onChange", "", "When one of these settings changes while the guest runs: regenerate writes the drive again at once, ignore waits for the next start. Either way cloud-init reads it at the next boot. Default: ignore.", choice(&c.onChange, "regenerate", "ignore")},
	}
}

func (c *cloudInit) lower(l *lowering) {
	if c.sshKeys.set {
		encoded := make([]string, len(c.sshKeys.value))
		for i, key := range texts(c.sshKeys) {
			encoded[i] = encodeComponent(strings.TrimSpace(key))
		}
		l.put("sshkeys", c.sshKeys.place, strings.Join(encoded, "%0A"))
	}
	l.secret("cipassword", c.passwordFrom)
	switch {
	case c.storage.set:
		c.lowerDrive(l)
	case c.slot.set:
		l.missing(c.slot.place, "got a slot without a storage for the drive", "add cloudInit.storage")
	}
}

func (c *cloudInit) lowerDrive(l *lowering) {
	slot := "ide2"
	if c.slot.set {
		slot = c.slot.value
	}
	l.open(slot, c.storage.place)
	l.put(".storage", c.storage.place, c.storage.value)
	l.put(".volume", c.storage.place, "cloudinit")
	l.close()
}

// needDrive reports settings without a drive: a guest that is created without a template has no drive that contains them.
func (c *cloudInit) needDrive(l *lowering) {
	if c.storage.set {
		return
	}
	for _, in := range l.sorted() {
		if in.Verb == guest.Want && guest.IsCloudInit(in.Key) {
			l.missing(l.setBy[in.Key], "got settings for cloud-init, but no drive that contains them", "add cloudInit.storage")
			return
		}
	}
}

// slotName is the name of a slot.
func slotName(into *opt[string], names families) value {
	return scalarValue[string]{into, slotCodec{names}}
}

type slotCodec struct{ names families }

func (c slotCodec) parse(n *tree.Node) (string, *rejection) {
	if n.Kind == tree.Scalar && c.names.has(n.Text) {
		return n.Text, nil
	}
	return "", wanted(n, "a slot of "+c.names.String())
}

func (c slotCodec) format(slot string) string { return slot }

func (c slotCodec) form() schema {
	return schema{Type: nullable("string"), Pattern: c.names.pattern(), Examples: textExamples(c.names[0].prefix + "0")}
}

// encodeComponent encodes a text like JavaScript's encodeURIComponent: everything except letters, digits and -_.!~*'().
func encodeComponent(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.!~*'()", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// ipConfig is the addresses of one interface.
type ipConfig struct {
	removal
	v4, gw4, v6, gw6 opt[string]
}

func (i *ipConfig) fields() []field {
	return []field{
		i.row(),
		{"v4", ".ip", "IPv4 address with its prefix length, or dhcp.", text(&i.v4, ip4Config)},
		{"gw4", ".gw", "IPv4 gateway.", text(&i.gw4, ip4Address)},
		{"v6", ".ip6", "IPv6 address with its prefix length, auto or dhcp.", text(&i.v6, ip6Config)},
		{"gw6", ".gw6", "IPv6 gateway.", text(&i.gw6, ip6Address)},
	}
}

func (i *ipConfig) lower(l *lowering) {
	checkGateway(l, i.v4, i.gw4)
	checkGateway(l, i.v6, i.gw6)
}

// dns is name servers and search domains, of cloud-init or of a container.
type dns struct{ servers, search textList }

func (d *dns) fields() []field {
	return []field{
		{"servers", "nameserver", "Addresses of name servers.", withExamples(list(&d.servers, ipAddress, " "), `["10.0.20.1", "1.1.1.1"]`)},
		{"search", "searchdomain", "Search domains.", withExamples(list(&d.search, dnsName, " "), `["home.lan"]`)},
	}
}

// snippets are volumes that replace cloud-init's files.
type snippets struct{ user, network, vendor, meta opt[string] }

func (s *snippets) fields() []field {
	return []field{
		{"user", "cicustom.user", "User data, such as local:snippets/web.yaml.", withExamples(text(&s.user, volumeID), `"local:snippets/web.yaml"`)},
		{"network", "cicustom.network", "Network data.", withExamples(text(&s.network, volumeID), `"local:snippets/network.yaml"`)},
		{"vendor", "cicustom.vendor", "Vendor data.", withExamples(text(&s.vendor, volumeID), `"local:snippets/vendor.yaml"`)},
		{"meta", "cicustom.meta", "Meta data.", withExamples(text(&s.meta, volumeID), `"local:snippets/meta.yaml"`)},
	}
}
