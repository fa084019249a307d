package alias

import (
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// weakens returns the guests whose guarded firewall a change of an alias opens.
func weakens(c kind.Change, world kind.World) []kind.Weakening {
	before, after := &guest.FirewallAlias{Name: c.ID, CIDR: c.Got.Keys[keyCIDR]}, &guest.FirewallAlias{Name: c.ID, CIDR: c.After().Keys[keyCIDR]}
	change := kind.FirewallChange{ID: c.ID, Object: "alias " + c.ID, Old: before.CIDR, New: after.CIDR, Use: use}
	if c.Op == cluster.OpObjectAdd {
		before, change.OnlyIfNamed, change.Old = nil, true, "missing"
	}
	if c.Op == cluster.OpObjectRemove {
		after, change.New = nil, "missing"
	}
	names := func(a *guest.FirewallAlias) firewall.Names {
		return firewall.Names{Aliases: map[string]*guest.FirewallAlias{c.ID: a}}
	}
	change.Before, change.After = names(before), names(after)
	return change.Weakens(world)
}
