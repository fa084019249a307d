package effect

import (
	"net/netip"
	"slices"
	"strings"
)

// Entry is an entry of a set of addresses.
type Entry struct {
	CIDR    string // an address, a network or an alias
	NoMatch bool
}

// Names are the aliases and sets of one firewall file, in lower case.
type Names struct {
	Aliases map[string]string // addresses or networks
	Sets    map[string][]Entry
}

// Firewall is the firewall of a guest. A rule has the keys and texts of the API.
type Firewall struct {
	Names
	Options map[string]string
	Rules   []map[string]string
	Cards   map[string]string // network cards of the guest's configuration
}

// Datacenter is what the firewall of the cluster gives to guests.
type Datacenter struct {
	Names
	Groups map[string][]map[string]string
}

// Packet is the first packet of a connection.
type Packet struct {
	Direction string // in, out
	Address   string // of the other side
	Port      string // of TCP, on the side that is addressed
	Card      string // of the guest
	Spoofed   bool   // its own address is not the guest's
}

// Passes reports whether a packet passes the firewall of a guest.
//
// Source: PVE::Firewall generate_tap_rules_direction, ruleset_generate_vm_rules, generate_ipset_chains; verify_rule, whose errors make a rule have no effect.
func (f Firewall) Passes(dc Datacenter, p Packet) bool {
	card, exists := f.Cards[p.Card]
	switch {
	case !exists:
		return false
	case f.Options["enable"] != "1", !slices.Contains(strings.Split(card, ","), "firewall=1"):
		return true
	case p.Direction == "out" && p.Spoofed && f.Options["ipfilter"] == "1":
		return false
	}
	if verdict := f.decide(dc, f.Rules, p); verdict != "" {
		return verdict == "ACCEPT"
	}
	policy := f.Options["policy_"+p.Direction]
	if policy == "" {
		policy = map[string]string{"in": "DROP", "out": "ACCEPT"}[p.Direction]
	}
	return policy == "ACCEPT"
}

// decide returns the action of the first rule that matches a packet, "" if none does.
func (f Firewall) decide(dc Datacenter, rules []map[string]string, p Packet) string {
	for _, r := range rules {
		switch {
		case r["enable"] != "1", r["iface"] != "" && r["iface"] != p.Card:
		case r["type"] == "group":
			inGroup := Firewall{} // a group does not know the guest's names
			if verdict := inGroup.decide(dc, dc.Groups[strings.ToLower(r["action"])], p); verdict != "" {
				return verdict
			}
		case r["type"] != p.Direction, !hasPort(r, p.Port):
		case f.matches(dc, r["source"], p.Address, p.Direction == "in") && f.matches(dc, r["dest"], p.Address, p.Direction == "out"):
			return r["action"]
		}
	}
	return ""
}

func hasPort(r map[string]string, port string) bool {
	switch {
	case r["macro"] != "":
		return r["macro"] == "SSH" && port == "22"
	case r["dport"] == "":
		return true
	}
	return slices.Contains(strings.Split(r["dport"], ","), port)
}

// matches reports whether what a rule names contains an address. The rule's other end is the guest, whose address is not modelled: a rule that names it matches nothing. So does one whose name
// has no object.
func (f Firewall) matches(dc Datacenter, text, address string, isOther bool) bool {
	if text == "" {
		return true
	}
	if !isOther {
		return false
	}
	at := netip.MustParseAddr(address)
	return slices.ContainsFunc(strings.Split(text, ","), func(part string) bool {
		name, isSet := strings.CutPrefix(strings.ToLower(part), "+")
		if !isSet {
			return f.network(dc, name).Contains(at)
		}
		if set, is := lookUp(f.Sets, nil, name); is {
			return f.contains(dc, set, at)
		}
		set, exists := lookUp(nil, dc.Sets, name)
		return exists && Firewall{}.contains(dc, set, at) // its entries name aliases of the datacenter
	})
}

// contains lets the most specific entry decide, as ipset does.
func (f Firewall) contains(dc Datacenter, set []Entry, at netip.Addr) bool {
	member, bits := false, -1
	for _, e := range set {
		if n := f.network(dc, strings.ToLower(e.CIDR)); n.IsValid() && n.Contains(at) && n.Bits() > bits {
			member, bits = !e.NoMatch, n.Bits()
		}
	}
	return member
}

// network returns what an address, a network or an alias means, invalid if it means nothing.
func (f Firewall) network(dc Datacenter, text string) netip.Prefix {
	if cidr, is := lookUp(f.Aliases, dc.Aliases, text); is {
		text = cidr
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return p
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen())
	}
	return netip.Prefix{}
}

// lookUp finds a name: of the file that it names, or else of the guest and then of the datacenter.
func lookUp[T any](own, cluster map[string]T, name string) (T, bool) {
	if rest, is := strings.CutPrefix(name, "dc/"); is {
		found, exists := cluster[rest]
		return found, exists
	}
	if rest, is := strings.CutPrefix(name, "guest/"); is {
		found, exists := own[rest]
		return found, exists
	}
	if found, exists := own[name]; exists {
		return found, true
	}
	found, exists := cluster[name]
	return found, exists
}
