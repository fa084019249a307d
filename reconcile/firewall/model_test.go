package firewall_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// packet is a new connection.
type packet struct {
	direction string // in, out
	address   string // of the other side
	port      string
	card      string // network card of the guest
	spoofed   bool   // its own address is not the guest's
}

func allPackets() []packet {
	var all []packet
	for _, direction := range []string{"in", "out"} {
		for _, address := range []string{"10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3"} {
			for _, port := range []string{"22", "80"} {
				for _, spoofed := range []bool{false, true} {
					all = append(all, packet{direction: direction, address: address, port: port, spoofed: spoofed})
				}
			}
		}
	}
	return all
}

// admits evaluates a firewall as Proxmox does, as far as the packets of the test differ.
func admits(fw *guest.FirewallSeen, p packet) bool {
	on := func(key string) bool { return fw.Options[key] == "1" }
	if !on("enable") {
		return true
	}
	if on("ipfilter") && p.spoofed && p.direction == "out" {
		return false
	}
	for _, r := range fw.Rules {
		if r.Enabled && r.Type == p.direction && (r.Interface == "" || r.Interface == p.card) && matches(fw, r.Source, p.address) && (r.DestPort == "" || r.DestPort == p.port) {
			return r.Action == "ACCEPT"
		}
	}
	policy := map[string]string{"in": "DROP", "out": "ACCEPT"}[p.direction]
	if v := fw.Options["policy_"+p.direction]; v != "" {
		policy = v
	}
	return policy == "ACCEPT"
}

// matches reports whether an address belongs to what a rule names. A name without an object matches nothing.
func matches(fw *guest.FirewallSeen, text, address string) bool {
	switch name, isSet := strings.CutPrefix(text, "+"); {
	case text == "":
		return true
	case isSet:
		i := slices.IndexFunc(fw.Sets, func(s guest.FirewallSet) bool { return s.Name == name })
		return i >= 0 && contains(fw, fw.Sets[i], address)
	case strings.HasPrefix(text, "al"):
		i := slices.IndexFunc(fw.Aliases, func(a guest.FirewallAlias) bool { return a.Name == text })
		return i >= 0 && within(fw.Aliases[i].CIDR, address)
	}
	return within(text, address)
}

// contains lets the most specific entry decide.
func contains(fw *guest.FirewallSeen, set guest.FirewallSet, address string) bool {
	member, bits := false, -1
	for _, e := range set.Entries {
		cidr := e.CIDR
		if i := slices.IndexFunc(fw.Aliases, func(a guest.FirewallAlias) bool { return a.Name == cidr }); i >= 0 {
			cidr = fw.Aliases[i].CIDR
		}
		if p := prefix(cidr); p.IsValid() && p.Contains(netip.MustParseAddr(address)) && p.Bits() > bits {
			member, bits = !e.NoMatch, p.Bits()
		}
	}
	return member
}

func within(cidr, address string) bool { return prefix(cidr).Contains(netip.MustParseAddr(address)) }

func prefix(cidr string) netip.Prefix {
	if p, err := netip.ParsePrefix(cidr); err == nil {
		return p
	}
	a, err := netip.ParseAddr(cidr)
	if err != nil {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(a, 32)
}

// failer is a test or a property.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// applied returns the firewall after a call, as Proxmox carries it out.
func applied(t failer, before *guest.FirewallSeen, call cluster.Call) *guest.FirewallSeen {
	t.Helper()
	fw, at := before.Clone(), call.Firewall
	if fw.Options == nil {
		fw.Options = map[string]string{}
	}
	switch at.Object {
	case cluster.FirewallOptions:
		maps.Copy(fw.Options, call.Params)
		for _, k := range call.Delete {
			delete(fw.Options, k)
		}
	case cluster.FirewallRule:
		fw.Rules = appliedRule(t, fw.Rules, call)
	case cluster.FirewallAlias:
		fw.Aliases = slices.DeleteFunc(fw.Aliases, func(a guest.FirewallAlias) bool { return a.Name == at.Name })
		if at.Verb != cluster.FirewallDelete {
			fw.Aliases = append(fw.Aliases, guest.FirewallAlias{Name: at.Name, CIDR: call.Params["cidr"], Comment: call.Params["comment"]})
		}
	case cluster.FirewallIPSet:
		i := slices.IndexFunc(fw.Sets, func(s guest.FirewallSet) bool { return s.Name == at.Name })
		switch at.Verb {
		case cluster.FirewallAdd:
			fw.Sets = append(fw.Sets, guest.FirewallSet{Name: at.Name, Comment: call.Params["comment"]})
		case cluster.FirewallSet:
			fw.Sets[i].Comment = call.Params["comment"]
		case cluster.FirewallMove, cluster.FirewallDelete:
			if len(fw.Sets[i].Entries) > 0 {
				t.Fatalf("got the set %s deleted with entries, want it emptied first", at.Name)
			}
			fw.Sets = slices.Delete(fw.Sets, i, i+1)
		}
	case cluster.FirewallEntry:
		set := &fw.Sets[slices.IndexFunc(fw.Sets, func(s guest.FirewallSet) bool { return s.Name == at.Name })]
		set.Entries = slices.DeleteFunc(set.Entries, func(e guest.FirewallEntry) bool { return e.CIDR == at.CIDR })
		if at.Verb != cluster.FirewallDelete {
			set.Entries = append(set.Entries, guest.FirewallEntry{CIDR: at.CIDR, NoMatch: call.Params["nomatch"] == "1", Comment: call.Params["comment"]})
		}
	}
	return fw
}

func appliedRule(t failer, rules []guest.FirewallRule, call cluster.Call) []guest.FirewallRule {
	t.Helper()
	at := call.Firewall
	switch at.Verb {
	case cluster.FirewallAdd:
		return slices.Insert(rules, 0, guest.RuleOf(call.Params))
	case cluster.FirewallDelete:
		return slices.Delete(rules, at.Pos, at.Pos+1)
	case cluster.FirewallSet:
		params := rules[at.Pos].Params()
		maps.Copy(params, call.Params)
		for _, k := range call.Delete {
			delete(params, k)
		}
		rules[at.Pos] = guest.RuleOf(params)
		return rules
	case cluster.FirewallMove:
	}
	var out []guest.FirewallRule
	for i, r := range rules {
		if i == at.To {
			out = append(out, rules[at.Pos])
		}
		if i != at.Pos {
			out = append(out, r)
		}
	}
	if at.To >= len(rules) {
		out = append(out, rules[at.Pos])
	}
	return out
}
