package securitygroup

import (
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// weakens returns the guests whose guarded firewall a change of a group opens. A group is filled before rules that name it are written.
func weakens(c kind.Change, world kind.World) []kind.Weakening {
	text := c.After().Keys[keyRules]
	if c.Op == cluster.OpObjectRemove {
		text = ""
	}
	before, after := kind.RulesOf(c.Got.Keys[keyRules]), kind.RulesOf(text)
	names := func(rules []guest.FirewallRule) firewall.Names {
		return firewall.Names{Groups: map[string][]guest.FirewallRule{c.ID: rules}}
	}
	return kind.FirewallChange{
		ID: c.ID, Use: use, Object: "group " + c.ID, Before: names(before), After: names(after), Old: describe(before), New: describe(after), OnlyIfNamed: true,
	}.Weakens(world)
}

func describe(rules []guest.FirewallRule) string {
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = r.String()
	}
	return "{" + strings.Join(texts, "; ") + "}"
}
