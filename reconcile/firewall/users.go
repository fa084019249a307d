package firewall

import (
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// AliasUser returns what in a firewall names an alias, "" if nothing does: a rule, also one without effect, or an entry of a set. The name counts in every
// scope, because Proxmox looks it up in both.
func AliasUser(seen *guest.FirewallSeen, name string) string {
	isAlias := func(text string) bool {
		return !strings.HasPrefix(text, "+") && strings.EqualFold(bareName(text), name)
	}
	for i, r := range seen.Rules {
		if isAlias(r.Source) || isAlias(r.Dest) {
			return fmt.Sprintf("rule %d", i)
		}
	}
	for _, set := range seen.Sets {
		if slices.ContainsFunc(set.Entries, func(e guest.FirewallEntry) bool { return isAlias(e.CIDR) }) {
			return "the set " + set.Name
		}
	}
	return ""
}

// NeededAliases returns the aliases that a firewall needs and does not contain, in lower case and sorted.
func NeededAliases(want *guest.FirewallWanted) []string {
	var texts, names []string
	for _, r := range want.Rules {
		texts = append(texts, r.Source, r.Dest)
	}
	for _, set := range want.Sets {
		for _, e := range set.Entries {
			texts = append(texts, e.CIDR)
		}
	}
	for _, text := range texts {
		name := bareName(text)
		_, isOwn := findAlias(want.Aliases, name)
		if name == "" || strings.HasPrefix(text, "+") || strings.ContainsAny(name, ".:/,") || isOwn && !strings.HasPrefix(text, "dc/") {
			continue
		}
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}
