package firewall

import (
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// RulesAfter returns rules as a call about one of them leaves them. A call about a position that does not exist changes nothing.
//
// Source: PVE API, POST and PUT of rules: a new rule is the first one, and a rule is moved in front of another one.
func RulesAfter(rules []guest.FirewallRule, call cluster.Call) []guest.FirewallRule {
	at := call.Firewall
	switch {
	case at.Verb == cluster.FirewallAdd:
		return slices.Insert(slices.Clone(rules), 0, guest.RuleOf(call.Params))
	case at.Pos < 0 || at.Pos >= len(rules):
		return rules
	}
	rule, others := rules[at.Pos], slices.Delete(slices.Clone(rules), at.Pos, at.Pos+1)
	switch at.Verb {
	case cluster.FirewallSet:
		params := rule.Params()
		maps.Copy(params, call.Params)
		maps.DeleteFunc(params, func(key, _ string) bool { return slices.Contains(call.Delete, key) })
		return slices.Insert(others, at.Pos, guest.RuleOf(params))
	case cluster.FirewallMove:
		to := at.To
		if to > at.Pos {
			to-- // the rule itself is no longer in front of it
		}
		return slices.Insert(others, min(to, len(others)), rule)
	case cluster.FirewallAdd, cluster.FirewallDelete:
	}
	return others
}

// EntriesAfter returns the entries of a set, sorted, as a call about one of them leaves them.
func EntriesAfter(entries []guest.FirewallEntry, call cluster.Call) []guest.FirewallEntry {
	others := slices.DeleteFunc(slices.Clone(entries), func(e guest.FirewallEntry) bool { return e.CIDR == call.Firewall.CIDR })
	if call.Firewall.Verb == cluster.FirewallDelete {
		return others
	}
	others = append(others, guest.FirewallEntry{CIDR: call.Firewall.CIDR, NoMatch: call.Params["nomatch"] == "1", Comment: call.Params["comment"]})
	slices.SortFunc(others, func(a, b guest.FirewallEntry) int { return strings.Compare(a.CIDR, b.CIDR) })
	return others
}
