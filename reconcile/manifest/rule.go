package manifest

import (
	"encoding/base64"
	"encoding/binary"
	"net/netip"
	"regexp"
	"strings"
	"unicode"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// rule says which texts a field accepts. Texts that become part of a native property string exclude the comma, which would
// smuggle in a second property.
type rule struct {
	want   string         // "the name of a storage"
	such   []string       // examples, "local-lvm"
	shape  *regexp.Regexp // nil accepts any shape
	accept func(string) bool
	most   int // bytes; 0 is 255

	slip   func(string) string // returns a hint for a text that does not fit, "" where it knows none; may be nil
	hidden bool                // a text that does not fit may be a secret, and is not repeated
}

// wanted returns what a message asks for: "the name of a storage, such as local-lvm".
func (r *rule) wanted() string {
	if len(r.such) == 0 {
		return r.want
	}
	return r.want + ", such as " + strings.Join(r.such, " or ")
}

func (r *rule) pattern() string {
	if r.shape == nil {
		return ""
	}
	return r.shape.String()
}

func (r *rule) parse(n *tree.Node) (string, *complaint) {
	text, wrong := r.read(n)
	if wrong != nil && r.hidden && n.Kind == tree.Scalar {
		return "", &complaint{message: "got something else, want " + r.wanted()}
	}
	return text, wrong
}

func (r *rule) read(n *tree.Node) (string, *complaint) {
	if n.Kind != tree.Scalar {
		return "", wanted(n, r.wanted())
	}
	if n.Tag != "!!str" {
		wrong := wanted(n, r.wanted())
		wrong.hint = "YAML reads this as something else than text: put it in quotes"
		return "", wrong
	}
	if !r.ok(n.Text) {
		wrong := wanted(n, r.wanted())
		if r.slip != nil {
			wrong.hint = r.slip(n.Text)
		}
		return "", wrong
	}
	return n.Text, nil
}

func (r *rule) format(s string) string { return s }

func (r *rule) form() schema {
	return schema{Type: nullable("string"), Pattern: r.pattern(), Examples: textExamples(r.such...)}
}

func (r *rule) ok(s string) bool {
	most := r.most
	if most == 0 {
		most = 255
	}
	return len(s) <= most && (r.shape == nil || r.shape.MatchString(s)) && (r.accept == nil || r.accept(s))
}

// dnsLabels is what Proxmox accepts as the name of a guest.
const dnsLabels = `([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?`

// Rules for texts.
//
// Source: PVE API, parameter formats of the qemu and lxc config calls; replies recorded from it.
var (
	anyText      = &rule{want: "a text of at most 8192 bytes, without control characters", accept: printable, most: 8192}
	dnsName      = &rule{want: "a DNS name of letters, digits and inner hyphens", such: []string{"web-1"}, shape: exactly(dnsLabels)}
	storageName  = &rule{want: "the name of a storage", such: []string{"local-lvm"}, shape: exactly(`[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]`)}
	nodeName     = &rule{want: "the name of a node", such: []string{"pve1"}, shape: exactly(`[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?`)}
	poolName     = &rule{want: "the name of a pool", such: []string{"prod"}, shape: exactly(`[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}`)}
	className    = &rule{want: "the name of a GuestClass", shape: exactly(dnsLabels)}
	volumeID     = &rule{want: "a volume", such: []string{"local:iso/debian.iso"}, shape: exactly(`[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]:[^\s,;]+`)}
	isoVolume    = &rule{want: "an ISO image or none", such: []string{"local:iso/debian.iso"}, shape: exactly(`none|[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]:[^\s,]+( +[^\s,]+)*`)}
	mountSource  = &rule{want: "a volume or a folder of the host", such: []string{"local-lvm:vm-101-disk-1", "/srv/data"}, shape: exactly(`([A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]:|/)[^\s,;]+`)}
	folder       = &rule{want: "an absolute path without commas", such: []string{"/var/lib/data"}, shape: exactly(`/[^\s,]*( +[^\s,]+)*`)}
	tagName      = &rule{want: "a tag of letters, digits and _ - + . that starts with a letter, digit or _", shape: exactly(`[a-zA-Z0-9_][a-zA-Z0-9_.+-]*`)}
	bridgeName   = &rule{want: "the name of a bridge or vnet", such: []string{"vmbr0"}, shape: exactly(`[A-Za-z0-9_.-]+`)}
	linkName     = &rule{want: "the name of an interface", such: []string{"eth0"}, shape: exactly(`[A-Za-z0-9_.-]{2,15}`)}
	mapping      = &rule{want: "the name of a resource mapping", such: []string{"gpu"}, shape: exactly(`[A-Za-z][A-Za-z0-9_-]+`)}
	cpuType      = &rule{want: "a CPU type", such: []string{"host", "x86-64-v2-AES"}, shape: exactly(`[A-Za-z0-9][A-Za-z0-9._-]*`)}
	cpuFlag      = &rule{want: "a CPU flag with its sign", such: []string{"+aes"}, shape: exactly(`[+-][a-z0-9._-]+`)}
	machineType  = &rule{want: "a machine type", such: []string{"q35", "pc-q35-9.2"}, shape: exactly(`(q35|pc|pc-(i440fx|q35)-[0-9]+(\.[0-9]+)+(\+pve[0-9]+)?)`)}
	serialPort   = &rule{want: "socket or a device of the host", such: []string{"/dev/ttyS0"}, shape: exactly(`socket|/dev/[^\s,]+`)}
	diskSerial   = &rule{want: "a serial number of letters, digits and _ - .", shape: exactly(`[A-Za-z0-9_.-]+`), most: 60}
	bootDevice   = &rule{want: "a boot device", such: []string{"scsi0", "net0"}, shape: exactly(`(scsi|virtio|sata|ide|net|usb|hostpci)[0-9]{1,2}`)}
	userName     = &rule{want: "a user name", such: []string{"debian"}, shape: exactly(`[A-Za-z_][A-Za-z0-9_.-]*\$?`), most: 64}
	fileSystem   = &rule{want: "a file system", such: []string{"nfs"}, shape: exactly(`[a-zA-Z0-9_]+`)}
	timeZone     = &rule{want: "host or a time zone", such: []string{"Europe/Berlin"}, shape: exactly(`[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*`)}
	secretName   = &rule{want: "the name of a file without slashes", such: []string{"web-password"}, shape: exactly(`[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}`), hidden: true}
	snapshot     = &rule{want: "the name of a snapshot", such: []string{"golden"}, shape: exactly(`[A-Za-z][A-Za-z0-9_-]{1,39}`)}
	commandLine  = &rule{want: "a command on one line", such: []string{"/usr/bin/app --serve"}, shape: regexp.MustCompile(`^[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$`), most: 1024}
	variableName = &rule{want: "the name of a variable", such: []string{"LANG"}, shape: exactly(`[A-Za-z_][A-Za-z0-9_]*`)}
	mediatedType = &rule{want: "the type of a mediated device", such: []string{"nvidia-63"}, shape: exactly(`[^\s,]+`)}
	oneLine      = &rule{want: "a text on one line of at most 255 bytes", shape: regexp.MustCompile(`^[^\x00-\x1f\x7f]+$`), accept: printable}
	nativeKey    = &rule{want: "a Proxmox key", such: []string{"keyboard"}, shape: exactly(`[a-z][a-z0-9_-]*`), most: 64, slip: smallLetters}
	fieldPath    = &rule{want: "the path of a field", such: []string{"networks.net0.mac"}, shape: exactly(`[^\s]+`)}
	guestLabel   = &rule{want: "a guest", such: []string{"VirtualMachine/db-1"}, shape: exactly(`(VirtualMachine|Container)/[^\s/]+`), slip: withKind}

	macAddress = &rule{want: "auto or a unicast MAC address", such: []string{"BC:24:11:00:00:01"}, shape: exactly(`auto|[0-9A-Fa-f][02468ACEace](:[0-9A-Fa-f]{2}){5}`)}
	ipAddress  = &rule{want: "an IP address", such: []string{"10.0.20.1"}, accept: func(s string) bool { return address(s).IsValid() }}
	ip4Address = &rule{want: "an IPv4 address", such: []string{"10.0.20.1"}, accept: func(s string) bool { return address(s).Is4() }}
	ip6Address = &rule{want: "an IPv6 address", such: []string{"fd00::1"}, accept: func(s string) bool { return address(s).Is6() }}
	ip4Config  = &rule{want: "dhcp or an IPv4 address with its prefix length", such: []string{"10.0.20.11/24"}, accept: func(s string) bool {
		return s == "dhcp" || network(s).Addr().Is4()
	}}
	ip4LinkConfig = &rule{want: "dhcp, manual or an IPv4 address with its prefix length", such: []string{"10.0.20.11/24"}, accept: func(s string) bool {
		return s == "dhcp" || s == "manual" || network(s).Addr().Is4()
	}}
	ip6Config = &rule{want: "auto, dhcp or an IPv6 address with its prefix length", such: []string{"fd00::11/64"}, accept: func(s string) bool {
		return s == "auto" || s == "dhcp" || network(s).Addr().Is6()
	}}
	ip6LinkConfig = &rule{want: "auto, dhcp, manual or an IPv6 address with its prefix length", such: []string{"fd00::11/64"}, accept: func(s string) bool {
		return s == "auto" || s == "dhcp" || s == "manual" || network(s).Addr().Is6()
	}}
	sshKey = &rule{want: "an SSH public key, such as ssh-ed25519 AAAA... me@host", accept: isSSHKey, most: 16384}
)

var mountOptions = guest.Words(guest.Container, "rootfs", "mountoptions")

var mountOption = &rule{want: "one of " + strings.Join(mountOptions, ", "), shape: exactly(strings.Join(mountOptions, "|"))}

// printable accepts lines of text.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) })
}

func exactly(pattern string) *regexp.Regexp { return regexp.MustCompile("^(?:" + pattern + ")$") }

// address returns the zero Addr for what is no address without a zone.
func address(s string) netip.Addr {
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" || a.Is4In6() {
		return netip.Addr{}
	}
	return a
}

func network(s string) netip.Prefix {
	p, err := netip.ParsePrefix(s)
	if err != nil || p.Addr().Is4In6() {
		return netip.Prefix{}
	}
	return p
}

// isSSHKey accepts "type base64 comment", where the type within the base64 text is the same: a key that was cut or wrapped
// while it was pasted is refused here, and not by the task that creates the guest.
func isSSHKey(s string) bool {
	kind, rest, found := strings.Cut(s, " ")
	blob, _, _ := strings.Cut(rest, " ")
	raw, err := base64.StdEncoding.DecodeString(blob)
	if !found || err != nil || len(raw) < 4 || strings.ContainsAny(s, "\r\n") {
		return false
	}
	length := int64(binary.BigEndian.Uint32(raw))
	return length <= int64(len(raw)-4) && string(raw[4:4+length]) == kind
}
