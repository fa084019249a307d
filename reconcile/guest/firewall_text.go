package guest

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Texts of firewalls are accepted only as Proxmox stores them, so that they can be compared.
//
// Source: PVE API, parameter formats of the firewall calls; replies recorded from it.
var (
	firewallReference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\+?(dc/|guest/)?[A-Za-z][A-Za-z0-9_-]{1,63}$`) })
	serviceName       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]+$`) })
)

// IsFirewallAddress accepts what Proxmox accepts as source and destination of a rule, except for addresses with host bits and in other spellings.
func IsFirewallAddress(text string) bool {
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

// IsSetEntry accepts an address, a network, or an alias of the cluster with its prefix.
func IsSetEntry(text string) bool {
	return IsNetwork(text) || strings.HasPrefix(text, "dc/") && firewallReference().MatchString(text)
}

// IsPort accepts the number of a port.
func IsPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}

// HasZeroInFront reports whether a number of a port or of a range of ports has a zero in front: to the packet filter, 010 is the port 8, and 080 none, so that it refuses all rules of the node.
//
// Source: iptables, xtables_strtoul with base 0.
func HasZeroInFront(text string) bool { return zeroInFront().MatchString(text) }

var zeroInFront = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[,:])0[0-9]`) })

// IsPortList accepts numbers, names and ranges of ports. A range counts twice.
func IsPortList(text string) bool {
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
		case !IsPort(item) && !serviceName().MatchString(item):
			return false
		}
	}
	return count <= 15
}

// IsFirewallComment accepts the comment of a rule: on one line, since Proxmox would read a further one as a rule, and not like a comment of the agent's own rules.
func IsFirewallComment(text string) bool {
	return text != "" && strings.TrimSpace(text) == text && !strings.ContainsAny(text, "\r\n\t") && !strings.HasPrefix(text, "gitops-agent:")
}

// RuleProblem is something in a rule that Proxmox would refuse, or would understand otherwise.
type RuleProblem struct {
	Key     string // native; "" for the whole rule
	Message string
	Hint    string
	Lacks   bool // the rule lacks something, which is certain only if all of it was understood
	New     bool // earlier releases accepted it
}

// Problems returns what is wrong between the keys of a rule that is no group.
func (r FirewallRule) Problems() []RuleProblem {
	var problems []RuleProblem
	require := func(set bool, name string) {
		if !set {
			problems = append(problems, RuleProblem{Message: "got no " + name + ", want one", Hint: "add " + name + ":", Lacks: true})
		}
	}
	require(r.Type != "", "type")
	require(r.Action != "", "action")
	switch {
	case r.Macro != "" && r.Protocol != "":
		problems = append(problems, RuleProblem{Key: "proto", Message: "got a protocol beside macro, which has its own", Hint: "leave one of them out"})
	case (r.DestPort != "" || r.SourcePort != "") && r.Protocol == "":
		problems = append(problems, RuleProblem{Message: "got ports without a protocol", Hint: "add protocol: tcp, or protocol: udp", Lacks: true})
	case r.ICMPType != "" && !slices.Contains([]string{"icmp", "icmpv6", "ipv6-icmp"}, r.Protocol):
		problems = append(problems, RuleProblem{Key: "icmp-type", Message: "got icmpType without protocol: icmp or icmpv6", Lacks: true})
	}
	for _, side := range []struct{ key, text string }{{"source", r.Source}, {"dest", r.Dest}} {
		if stored := strings.ToLower(side.text); strings.HasPrefix(side.text, "+") && side.text != stored {
			problems = append(problems, RuleProblem{Key: side.key, Message: "got " + side.text + ", want the name of the set in small letters: Proxmox stores it so and finds no other", Hint: "write " + stored, New: true})
		}
	}
	return problems
}
