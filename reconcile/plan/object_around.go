package plan

import (
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
)

// weakenings returns what a change of an object takes from guests with guards.
func weakenings(k *kind.Kind, c kind.Change, want Desired, got cluster.Snapshot) []kind.Weakening {
	if !mayWeaken(k, want.Objects) {
		return nil
	}
	if kind.IsOfFirewall(k.Name) && restores(k, c) {
		return nil // each of these kinds has one key on which guards depend
	}
	return k.Weakens(c, around(k, c.ID, want, got))
}

// mayWeaken reports whether a guest has a guard that changes of a kind can weaken.
func mayWeaken(k *kind.Kind, objects Objects) bool {
	guard := k.Guard
	if kind.IsOfFirewall(k.Name) {
		guard = guest.GuardFirewall
	}
	return k.Weakens != nil && slices.ContainsFunc(objects.Guarded, func(g kind.Guarded) bool { return g.Has(guard) })
}

// around returns what a change of an object is judged among.
func around(k *kind.Kind, id string, want Desired, got cluster.Snapshot) kind.World {
	a := kind.World{Guests: want.Objects.Guarded, Observed: got}
	if kind.IsOfFirewall(k.Name) {
		a.Firewall = want.derived.firewall()
	} else {
		a.Others = slices.DeleteFunc(slices.Clone(want.derived.lasting(k)), func(o kind.Lasting) bool { return o.Now.ID == id })
	}
	return a
}

// firewallObjects returns the objects of the datacenter's firewall that are known, as they are and as their manifests want them.
func firewallObjects(want Desired, got cluster.Snapshot) *kind.FirewallObjects {
	all := want.Objects.whole()
	objects := make(map[guest.Kind][]kind.Lasting)
	wanted := all.wantedIDs()
	for name, list := range got.Objects {
		for id, now := range list.ByID {
			if kind.IsOfFirewall(name) && !wanted[journal.ObjectID{Kind: string(name), ID: id}] {
				objects[name] = append(objects[name], kind.Lasting{Now: now, Next: now})
			}
		}
	}
	for _, d := range all.Wanted {
		list := got.Objects[d.Kind]
		now, exists := list.ByID[d.ID]
		if !kind.IsOfFirewall(d.Kind) || !exists && !list.Knows(d.ID) {
			continue
		}
		next := asWanted(now, d)
		next.ID = d.ID
		objects[d.Kind] = append(objects[d.Kind], kind.Lasting{Now: now, Next: next})
	}
	return kind.NewFirewallObjects(objects)
}

// asWanted returns an object as its manifest wants it.
func asWanted(now cluster.Object, d kind.Desired) cluster.Object {
	c := kind.Change{ID: now.ID, Got: now, Set: make(map[string]string)}
	for _, in := range d.Keys {
		if in.Text == "" {
			c.Delete = append(c.Delete, in.Key)
		} else {
			c.Set[in.Key] = in.Text
		}
	}
	return c.After()
}
