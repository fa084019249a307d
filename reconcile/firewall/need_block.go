package firewall

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// namesNeedBlock reports whether aliases or sets change, or come into being, on which rules in effect depend, in a way that no order of calls makes safe.
func (s *sequence) namesNeedBlock() bool {
	aliases, sets := s.changedNames()
	switch {
	case len(aliases)+len(sets) == 0:
		return false
	case len(aliases) > 0 || len(sets) > 1 || s.rulesOrOptionsDiffer():
		return true
	}
	want, _ := findSet(s.want.Sets, sets[0])
	live, exists := findSet(s.seen.Sets, sets[0])
	return !exists || !HasSafeOrder(want, live, false)
}

// changedNames returns the aliases and sets whose addresses change, that are missing, or that are removed, and on which something in effect depends. A rule
// means the object of the cluster while the guest has none of the name.
func (s *sequence) changedNames() (aliases, sets []string) {
	for _, a := range s.want.Aliases {
		if live, exists := findAlias(s.seen.Aliases, a.Name); (!exists || live.CIDR != a.CIDR) && s.usesAlias(a.Name) {
			aliases = append(aliases, a.Name)
		}
	}
	for _, set := range s.want.Sets {
		if live, _ := findSet(s.seen.Sets, set.Name); !sameAddresses(set, live) && s.usesSet(set.Name) {
			sets = append(sets, set.Name)
		}
	}
	if s.want.KeepOthers {
		return aliases, sets
	}
	for _, a := range s.seen.Aliases {
		if _, wanted := findAlias(s.want.Aliases, a.Name); s.want.Aliases != nil && !wanted && (s.keptRuleNames(a.Name) || s.usedBySet(a.Name)) {
			aliases = append(aliases, a.Name)
		}
	}
	for _, set := range s.seen.Sets {
		if _, wanted := findSet(s.want.Sets, set.Name); s.want.Sets != nil && !wanted && s.keptRuleNames(set.Name) {
			sets = append(sets, set.Name)
		}
	}
	return aliases, sets
}

func sameAddresses(a, b guest.FirewallSet) bool {
	bare := func(s guest.FirewallSet) []guest.FirewallEntry {
		list := slices.Clone(s.Entries)
		for i := range list {
			list[i].Comment = ""
		}
		slices.SortFunc(list, func(a, b guest.FirewallEntry) int { return strings.Compare(a.CIDR, b.CIDR) })
		return list
	}
	return slices.Equal(bare(a), bare(b))
}

// usesAlias reports whether a rule in effect, or a set, names the alias.
func (s *sequence) usesAlias(name string) bool {
	return namedBy(s.seen.Rules, name) || s.usedBySet(name)
}

func (s *sequence) usedBySet(alias string) bool {
	return slices.ContainsFunc(s.seen.Sets, func(set guest.FirewallSet) bool {
		return slices.ContainsFunc(set.Entries, func(e guest.FirewallEntry) bool { return strings.EqualFold(bareName(e.CIDR), alias) })
	})
}

// usesSet reports whether a rule in effect names the set, or whether it is one that the option ipfilter uses.
func (s *sequence) usesSet(name string) bool {
	return strings.HasPrefix(name, "ipfilter-") && isOn(s.seen.Options["ipfilter"]) || namedBy(s.seen.Rules, name)
}

// keptRuleNames reports whether a rule that is in effect at the end names an alias or a set.
func (s *sequence) keptRuleNames(name string) bool {
	if s.want.Rules == nil {
		return namedBy(s.seen.Rules, name)
	}
	return namedBy(s.want.Rules, name)
}

func namedBy(rules []guest.FirewallRule, name string) bool {
	return slices.ContainsFunc(rules, func(r guest.FirewallRule) bool {
		return r.Enabled && (strings.EqualFold(bareName(r.Source), name) || strings.EqualFold(bareName(r.Dest), name))
	})
}

// bareName returns a name in a rule without its prefixes. Proxmox looks up a name in both scopes, whatever its prefix is.
func bareName(text string) string {
	text = strings.TrimPrefix(text, "+")
	return strings.TrimPrefix(strings.TrimPrefix(text, "guest/"), "dc/")
}

// rulesOrOptionsDiffer reports whether more than names differs in its effect.
func (s *sequence) rulesOrOptionsDiffer() bool {
	if _, differ := s.options(anyOption)(); differ || slices.Contains(s.places.at, -1) {
		return true
	}
	for j, r := range s.seen.Rules {
		if r.Enabled && (s.isOther(j, r) || isBlock(r)) {
			return true
		}
	}
	return false
}
