package kind

import (
	"fmt"
	"maps"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/object"
)

// Guarded is a guest with guards that changes of objects can weaken.
type Guarded struct {
	guest.Ref
	Guards   []guest.GuardField    // in effect
	Firewall *guest.FirewallWanted // if it is guarded; nil if its record cannot be read
}

// Has reports whether a guard is in effect.
func (g Guarded) Has(field guest.GuardField) bool { return slices.Contains(g.Guards, field) }

// World is what an object and its changes are judged among. What it lacks has no edges.
type World struct {
	Guests   []Guarded        // sorted by vmid, also those whose manifests were removed
	Others   []Lasting        // of a kind with a guard of its own: the other objects of the kind that stay, sorted by id
	Firewall *FirewallObjects // of a change of the datacenter's firewall
	Observed cluster.Snapshot
	Places   []Place // of guests that require backups
}

// Place is where a guest is or will be, on which it depends whether a backup job covers it.
type Place struct {
	Key        object.Key // to which an edge of a job ends: the guest, or a place where the guest is not yet
	VMID       int
	Node, Pool string
	HA         bool     // the HA manager may move the guest
	Nodes      []string // of a guest under HA: where the manager may run it, sorted
	Unknown    bool     // the list of guests lacks the guest, so node and pool are not known
}

// PlaceOf returns where the list of guests has a guest.
func PlaceOf(vmid int, got cluster.Snapshot) Place {
	row, listed := got.Inventory.Row(vmid)
	p := Place{Key: object.Guest(vmid), VMID: vmid, Node: row.Node, Pool: row.Pool, Unknown: !listed}
	if got.UnderHA(vmid) {
		p = p.UnderHA(got)
	}
	return p
}

// UnderHA returns the place of a guest that the HA manager may move, to any node of the cluster.
func (p Place) UnderHA(got cluster.Snapshot) Place {
	p.HA, p.Nodes = true, got.Inventory.Members()
	return p
}

// WithoutHA returns the place of a guest that stays where it is.
func (p Place) WithoutHA() Place {
	p.HA, p.Nodes = false, nil
	return p
}

// Each returns one place for each node on which the guest may be.
func (p Place) Each() []Place {
	if !p.HA {
		return []Place{p}
	}
	places := make([]Place, 0, len(p.Nodes)+1)
	for _, node := range p.Nodes {
		at := p
		at.Node, at.Key = node, edge.Place(fmt.Sprintf("guest %d on %s in the pool %q", p.VMID, node, p.Pool))
		places = append(places, at)
	}
	if p.Node != "" && !slices.Contains(p.Nodes, p.Node) {
		places = append(places, p)
	}
	return places
}

// SameAs reports whether a guest may be in the same places: the node of a guest under HA tells nothing.
func (p Place) SameAs(other Place) bool {
	return p.Pool == other.Pool && p.HA == other.HA && slices.Equal(p.Nodes, other.Nodes) && (p.HA || p.Node == other.Node)
}

// Lasting is an object that exists, and that neither is removed nor has to be created: as it is, and as its manifest wants it. Objects are changed at the same
// time, so only what both have in common can be relied on.
type Lasting struct{ Now, Next cluster.Object }

// Weakening is what a change takes from a guest.
type Weakening struct {
	Guest    guest.Ref
	Field    guest.GuardField // the guard
	Old, New string           // for people, and part of the digest that an approval names
}

// String returns "VirtualMachine/db-1 (201): backup: in nightly -> in no enabled job".
func (w Weakening) String() string {
	return fmt.Sprintf("%s: %s: %s -> %s", w.Guest, w.Field, w.Old, w.New)
}

// After returns an object as a change leaves it.
func (c Change) After() cluster.Object {
	after := cluster.Object{ID: c.ID, Keys: make(map[string]string, len(c.Got.Keys)+len(c.Set))}
	maps.Copy(after.Keys, c.Got.Keys)
	maps.Copy(after.Keys, c.Set)
	for _, key := range c.Delete {
		delete(after.Keys, key)
	}
	return after
}
