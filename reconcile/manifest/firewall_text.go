package manifest

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// Rules for texts of firewalls. Addresses have to be written as Proxmox stores them, so that they can be compared.
//
// Source: PVE API, parameter formats of the firewall calls; replies recorded from it.
var (
	firewallName    = &textRule{want: "a name of 2 to 64 lower-case letters, digits, - and _ that starts with a letter", examples: []string{"office"}, shape: exactly(`[a-z][a-z0-9_-]{1,63}`)}
	groupName       = &textRule{want: "the name of a security group", examples: []string{"web"}, shape: exactly(`[a-z][a-z0-9_-]{1,17}`)}
	macroName       = &textRule{want: "the name of a macro of Proxmox", examples: []string{"SSH"}, shape: exactly(`[A-Za-z][A-Za-z0-9]+`)}
	protocolName    = &textRule{want: "the name or the number of a protocol", examples: []string{"tcp"}, shape: exactly(`[a-z][a-z0-9-]*|[1-9][0-9]{0,2}`)}
	icmpType        = &textRule{want: "the name of a type of ICMP messages", examples: []string{"echo-request"}, shape: exactly(`[A-Za-z][A-Za-z-]+`)}
	firewallLink    = &textRule{want: "a slot of a network card", examples: []string{"net0"}, shape: exactly(`net[0-9]{1,2}`)}
	firewallAddress = &textRule{want: "addresses of one family, a range, an alias, or + and the name of a set", examples: []string{"10.0.0.0/24", "+admins"}, accept: isFirewallAddress, hintFor: addressHint, maxBytes: 512}
	networkAddress  = &textRule{want: "an address or a network", examples: []string{"10.0.0.0/24"}, accept: guest.IsNetwork, hintFor: addressHint}
	setEntry        = &textRule{want: "an address, a network, or an alias of the cluster", examples: []string{"10.0.0.0/24", "dc/office"}, accept: isSetEntry, hintFor: addressHint}
	portList        = &textRule{want: "at most 15 ports and ranges, without blanks", examples: []string{"22", "80,443,8000:8080"}, accept: isPortList}

	firewallComment = &textRule{want: "a text on one line, without blanks at its ends", accept: isFirewallComment, hintFor: func(string) string {
		return "Proxmox would read a further line as a rule of its own"
	}}
)

var firewallReference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\+?(dc/|guest/)?[A-Za-z][A-Za-z0-9_-]{1,63}$`) })

func isFirewallComment(text string) bool {
	return text != "" && strings.TrimSpace(text) == text && printable(text) && !strings.ContainsAny(text, "\r\n\t") && !strings.HasPrefix(text, "gitops-agent:")
}

// addressHint proposes the form in which Proxmox stores an address.
func addressHint(text string) string {
	if stored := guest.StoredNetwork(text); stored != "" && stored != text {
		return didYouMean(stored)
	}
	return ""
}

func isSetEntry(text string) bool {
	return guest.IsNetwork(text) || strings.HasPrefix(text, "dc/") && firewallReference().MatchString(text)
}

// isFirewallAddress accepts what Proxmox accepts as source and destination, except for addresses with host bits and in other spellings.
func isFirewallAddress(text string) bool {
	if firewallReference().MatchString(text) {
		return true
	}
	if begin, end, found := strings.Cut(text, "-"); found {
		a, errA := netip.ParseAddr(begin)
		b, errB := netip.ParseAddr(end)
		return errA == nil && errB == nil && a.Is4() == b.Is4() && !b.Less(a) && a.String() == begin && b.String() == end
	}
	parts := strings.Split(text, ",")
	for _, part := range parts {
		p, err := netip.ParsePrefix(part)
		if err != nil {
			var a netip.Addr
			if a, err = netip.ParseAddr(part); err != nil || a.String() != part {
				return false
			}
			p = netip.PrefixFrom(a, a.BitLen())
		} else if p.Masked().String() != part {
			return false
		}
		if isIPv4(parts[0]) != p.Addr().Is4() {
			return false
		}
	}
	return true
}

func isIPv4(text string) bool {
	address, _, _ := strings.Cut(text, "/")
	a, err := netip.ParseAddr(address)
	return err == nil && a.Is4()
}

var serviceName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]+$`) })

// isPortList accepts numbers, names and ranges of ports. A range counts twice.
func isPortList(text string) bool {
	count := 0
	for item := range strings.SplitSeq(text, ",") {
		begin, end, isRange := strings.Cut(item, ":")
		count++
		switch {
		case isRange:
			count++
			a, errA := strconv.ParseUint(begin, 10, 16)
			b, errB := strconv.ParseUint(end, 10, 16)
			if errA != nil || errB != nil || a > b {
				return false
			}
		case !isPort(item) && !serviceName().MatchString(item):
			return false
		}
	}
	return count <= 15
}

// ports is a list of ports as one text. A single number needs no quotes.
func ports(into *opt[string]) value { return scalarValue[string]{into, portCodec{portList}} }

type portCodec struct{ *textRule }

func (c portCodec) parse(n *tree.Node) (string, *rejection) {
	if n.Kind == tree.Scalar && n.Tag == "!!int" && isPort(n.Text) {
		return n.Text, nil
	}
	return c.textRule.parse(n)
}

func (c portCodec) form() schema {
	return schema{Type: nullable("string", "integer"), Examples: textExamples(c.examples...)}
}
