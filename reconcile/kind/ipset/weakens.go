package ipset

import (
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// weakens returns the guests whose guarded firewall a change of a set opens. A set is filled before rules that name it are written.
func weakens(c kind.Change, world kind.World) []kind.Weakening {
	text := c.After().Keys[keyEntries]
	if c.Op == cluster.OpObjectRemove {
		text = ""
	}
	before, after := setOf(c.ID, c.Got.Keys[keyEntries], ""), setOf(c.ID, text, "")
	names := func(set guest.FirewallSet) firewall.Names {
		return firewall.Names{Sets: map[string]*guest.FirewallSet{c.ID: &set}}
	}
	return kind.FirewallChange{
		ID: c.ID, Use: use, Object: "set " + c.ID, Before: names(before), After: names(after), Old: before.String(), New: after.String(), OnlyIfNamed: true,
	}.Weakens(world)
}
