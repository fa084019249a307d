package manifest

import (
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// textRule defines which texts a field accepts. Texts that become part of a native property string exclude the comma, which would add a second
// property.
type textRule struct {
	want     string                // "the name of a storage"
	examples []string              // examples, "local-lvm"
	shape    func() *regexp.Regexp // nil accepts any shape
	accept   func(string) bool
	maxBytes int // 0 is 255

	numbers bool // a YAML number is read as its text

	hintFor func(string) string // returns a hint for a text that is refused, or ""; may be nil
	hidden  bool                // a refused text may be a secret, and is not repeated
}

// wanted returns the wanted text for a message: "the name of a storage, such as local-lvm".
func (r *textRule) wanted() string {
	if len(r.examples) == 0 {
		return r.want
	}
	return r.want + ", such as " + strings.Join(r.examples, " or ")
}

func (r *textRule) pattern() string {
	if r.shape == nil {
		return ""
	}
	return r.shape().String()
}

func (r *textRule) parse(n *tree.Node) (string, *rejection) {
	text, wrong := r.read(n)
	if wrong != nil && r.hidden && n.Kind == tree.Scalar {
		return "", &rejection{message: "got another value, want " + r.wanted()}
	}
	return text, wrong
}

func (r *textRule) read(n *tree.Node) (string, *rejection) {
	if n.Kind != tree.Scalar {
		return "", wanted(n, r.wanted())
	}
	if n.Tag != "!!str" && (!r.numbers || n.Tag != "!!int" && n.Tag != "!!float") {
		wrong := wanted(n, r.wanted())
		wrong.hint = "YAML does not read this as text: put it in quotes"
		return "", wrong
	}
	if !r.ok(n.Text) {
		wrong := wanted(n, r.wanted())
		if r.hintFor != nil {
			wrong.hint = r.hintFor(n.Text)
		}
		return "", wrong
	}
	return n.Text, nil
}

func (r *textRule) format(s string) string { return s }

func (r *textRule) form() schema {
	return schema{Type: nullable(r.types()...), Pattern: r.pattern(), Examples: textExamples(r.examples...)}
}

// types returns the types of a schema for the text.
func (r *textRule) types() []string {
	if r.numbers {
		return []string{"string", "number"}
	}
	return []string{"string"}
}

func (r *textRule) ok(s string) bool {
	most := r.maxBytes
	if most == 0 {
		most = 255
	}
	return len(s) <= most && (r.shape == nil || r.shape().MatchString(s)) && (r.accept == nil || r.accept(s))
}

// dnsLabels is the pattern for names of guests in Proxmox.
const dnsLabels = `([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?`

// Rules for texts.
//
// Source: PVE API, parameter formats of the qemu and lxc config calls; replies recorded from it.
var (
	anyText      = &textRule{want: "a text of at most 8192 bytes, without control characters", accept: printable, maxBytes: 8192}
	dnsName      = &textRule{want: "a DNS name of letters, digits and inner hyphens", examples: []string{"web-1"}, shape: exactly(dnsLabels)}
	storageName  = &textRule{want: "the name of a storage", examples: []string{"local-lvm"}, shape: exactly(`[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]`)}
	nodeName     = &textRule{want: "the name of a node", examples: []string{"pve1"}, shape: exactly(`[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?`)}
	poolName     = &textRule{want: "the name of a pool", examples: []string{"prod"}, shape: exactly(`[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}`)}
	className    = &textRule{want: "the name of a GuestClass", shape: exactly(dnsLabels)}
	volumeID     = &textRule{want: "a volume", examples: []string{"local:iso/debian.iso"}, shape: exactly(`[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]:[^\s,;]+`)}
	isoVolume    = &textRule{want: "an ISO image or none", examples: []string{"local:iso/debian.iso"}, shape: exactly(`none|[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]:[^\s,]+( +[^\s,]+)*`)}
	mountSource  = &textRule{want: "a volume or a folder of the host", examples: []string{"local-lvm:vm-101-disk-1", "/srv/data"}, shape: exactly(`([A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]:|/)[^\s,;]+`)}
	folder       = &textRule{want: "an absolute path without commas", examples: []string{"/var/lib/data"}, shape: exactly(`/[^\s,]*( +[^\s,]+)*`)}
	tagName      = &textRule{want: "a tag of letters, digits and _ - + . that starts with a letter, digit or _", shape: exactly(`[a-zA-Z0-9_][a-zA-Z0-9_.+-]*`)}
	bridgeName   = &textRule{want: "the name of a bridge or vnet", examples: []string{"vmbr0"}, shape: exactly(`[A-Za-z0-9_.-]+`)}
	linkName     = &textRule{want: "the name of an interface", examples: []string{"eth0"}, shape: exactly(`[A-Za-z0-9_.-]{2,15}`)}
	mapping      = &textRule{want: "the name of a resource mapping", examples: []string{"gpu"}, shape: exactly(`[A-Za-z][A-Za-z0-9_-]+`)}
	cpuType      = &textRule{want: "a CPU type", examples: []string{"host", "x86-64-v2-AES"}, shape: exactly(`[A-Za-z0-9][A-Za-z0-9._-]*`)}
	cpuFlag      = &textRule{want: "a CPU flag with its sign", examples: []string{"+aes"}, shape: exactly(`[+-][a-z0-9._-]+`)}
	machineType  = &textRule{want: "a machine type", examples: []string{"q35", "pc-q35-9.2"}, shape: exactly(`(q35|pc|pc-(i440fx|q35)-[0-9]+(\.[0-9]+)+(\+pve[0-9]+)?)`)}
	serialPort   = &textRule{want: "socket or a device of the host", examples: []string{"/dev/ttyS0"}, shape: exactly(`socket|/dev/[^\s,]+`)}
	diskSerial   = &textRule{want: "a serial number of letters, digits and _ - .", shape: exactly(`[A-Za-z0-9_.-]+`), maxBytes: 60}
	bootDevice   = &textRule{want: "a boot device", examples: []string{"scsi0", "net0"}, shape: exactly(`(scsi|virtio|sata|ide|net|usb|hostpci)[0-9]{1,2}`)}
	userName     = &textRule{want: "a user name", examples: []string{"debian"}, shape: exactly(`[A-Za-z_][A-Za-z0-9_.-]*\$?`), maxBytes: 64}
	fileSystem   = &textRule{want: "a file system", examples: []string{"nfs"}, shape: exactly(`[a-zA-Z0-9_]+`)}
	timeZone     = &textRule{want: "host, UTC or a time zone of a continent or an ocean", examples: []string{"Europe/Berlin"}, shape: exactly(`host|UTC|(Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific)(/[A-Za-z0-9_+-]+)+`), hintFor: timeZoneHint}
	secretName   = &textRule{want: "the name of a file without slashes", examples: []string{"web-password"}, shape: exactly(`[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}`), hidden: true}
	imageName    = &textRule{want: "the name of an Image", examples: []string{"debian-13"}, shape: exactly(dnsLabels)}
	webAddress   = &textRule{want: "an http or https address without credentials", examples: []string{"https://cloud.debian.org/debian-13.qcow2"}, shape: exactly(`https?://[^\s@/?#\\]+/[^\s#\\]*`), accept: isWebAddress, maxBytes: 2048, hidden: true}
	checksumText = &textRule{want: "sha256: with 64 hex digits, or sha512: with 128", shape: exactly(`sha256:[0-9A-Fa-f]{64}|sha512:[0-9A-Fa-f]{128}`)}
	snapshot     = &textRule{want: "the name of a snapshot", examples: []string{"golden"}, shape: exactly(guest.SnapshotName)}
	commandLine  = &textRule{want: "a command on one line", examples: []string{"/usr/bin/app --serve"}, shape: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$`) }), maxBytes: 1024}
	variableName = &textRule{want: "the name of a variable", examples: []string{"LANG"}, shape: exactly(`[A-Za-z_][A-Za-z0-9_]*`)}
	mediatedType = &textRule{want: "the type of a mediated device", examples: []string{"nvidia-63"}, shape: exactly(`[^\s,]+`)}
	oneLine      = &textRule{want: "a text on one line of at most 255 bytes", shape: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\x00-\x1f\x7f]+$`) }), accept: printable}
	nativeKey    = &textRule{want: "a Proxmox key", examples: []string{"keyboard"}, shape: exactly(`[a-z][a-z0-9_-]*`), maxBytes: 64, hintFor: lowerCaseHint}
	fieldPath    = &textRule{want: "the path of a field", examples: []string{"networks.net0.mac"}, shape: exactly(`[^\s]+`)}
	guestLabel   = &textRule{want: "a guest", examples: []string{"VirtualMachine/db-1"}, shape: exactly(`(VirtualMachine|Container)/[^\s/]+`), hintFor: labelHint}

	macAddress = &textRule{want: "auto or a unicast MAC address", examples: []string{"BC:24:11:00:00:01"}, shape: exactly(`auto|[0-9A-Fa-f][02468ACEace](:[0-9A-Fa-f]{2}){5}`)}
	ipAddress  = &textRule{want: "an IP address", examples: []string{"10.0.20.1"}, accept: func(s string) bool { return address(s).IsValid() }}
	ip4Address = &textRule{want: "an IPv4 address", examples: []string{"10.0.20.1"}, accept: func(s string) bool { return address(s).Is4() }}
	ip6Address = &textRule{want: "an IPv6 address", examples: []string{"fd00::1"}, accept: func(s string) bool { return address(s).Is6() }}
	ip4Config  = &textRule{want: "dhcp or an IPv4 address with its prefix length", examples: []string{"10.0.20.11/24"}, accept: func(s string) bool {
		return s == "dhcp" || network(s).Addr().Is4()
	}}
	ip4LinkConfig = &textRule{want: "dhcp, manual or an IPv4 address with its prefix length", examples: []string{"10.0.20.11/24"}, accept: func(s string) bool {
		return s == "dhcp" || s == "manual" || network(s).Addr().Is4()
	}}
	ip6Config = &textRule{want: "auto, dhcp or an IPv6 address with its prefix length", examples: []string{"fd00::11/64"}, accept: func(s string) bool {
		return s == "auto" || s == "dhcp" || network(s).Addr().Is6()
	}}
	ip6LinkConfig = &textRule{want: "auto, dhcp, manual or an IPv6 address with its prefix length", examples: []string{"fd00::11/64"}, accept: func(s string) bool {
		return s == "auto" || s == "dhcp" || s == "manual" || network(s).Addr().Is6()
	}}
	sshKey = &textRule{want: "an SSH public key, such as ssh-ed25519 AAAA... me@host", accept: isSSHKey, maxBytes: 16384, hintFor: sshKeyHint}
)

var mountOptions = guest.Words(guest.Container, "rootfs", "mountoptions")

var mountOption = &textRule{want: "one of " + strings.Join(mountOptions, ", "), shape: exactly(strings.Join(mountOptions, "|"))}

// printable accepts text without control characters, apart from tabs and line ends.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) })
}

// isWebAddress accepts the address of a file on a web server.
func isWebAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.User == nil && u.Hostname() != "" && printable(s)
}

func exactly(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^(?:" + expression + ")$") })
}

// address returns an IP address without a zone, or the zero Addr.
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

var labelName = &textRule{want: "a name", examples: []string{"team", "example.com/team"}, shape: exactly(`[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?`)}

var pathPattern = &textRule{
	want: "a pattern of file names below the Cluster's folder", examples: []string{"web/**"}, shape: exactly(`[^/\s][^\s]*`),
	accept: func(s string) bool {
		_, err := path.Match(s, "")
		return err == nil && !slices.Contains(strings.Split(s, "/"), "..") && path.Clean(s) == s
	},
}

// lowerCaseHint returns a hint for a native key that is written like a field: ostype for osType.
func lowerCaseHint(key string) string {
	small := strings.ToLower(key)
	for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
		if guest.IsKnown(kind, small) {
			return didYouMean(small)
		}
	}
	return ""
}

// labelHint returns a hint for a guest that is named without its kind.
func labelHint(name string) string {
	if !dnsName.ok(name) {
		return ""
	}
	return didYouMean(string(guest.VirtualMachine) + "/" + name + " or " + string(guest.Container) + "/" + name)
}

// timeZoneHint returns a hint for names of UTC that Proxmox does not accept.
func timeZoneHint(name string) string {
	switch strings.TrimPrefix(strings.ToLower(name), "etc/") {
	case "utc", "gmt", "uct", "zulu", "universal", "greenwich":
		return didYouMean("UTC")
	}
	return ""
}
