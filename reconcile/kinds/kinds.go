// Package kinds is the table of the kinds of objects that are no guests and follow package kind. To add a kind, add its package and a row here.
package kinds

import (
	"slices"
	"sync"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kind/affinity"
	"gitops-agent/reconcile/kind/alias"
	"gitops-agent/reconcile/kind/backupjob"
	"gitops-agent/reconcile/kind/ipset"
	"gitops-agent/reconcile/kind/pool"
	"gitops-agent/reconcile/kind/replication"
	"gitops-agent/reconcile/kind/securitygroup"
	"gitops-agent/reconcile/object"
)

// table is made once: its rows have patterns and functions, and no state.
var table = sync.OnceValue(func() []*kind.Kind {
	return []*kind.Kind{pool.Kind(), backupjob.Kind(), replication.Kind(), alias.Kind(), ipset.Kind(), securitygroup.Kind(), affinity.Kind()}
})

// All returns every kind, in the order in which their objects need each other.
func All() []*kind.Kind { return table() }

// Of returns a kind by its name.
func Of(name guest.Kind) (*kind.Kind, bool) {
	i := slices.IndexFunc(table(), func(k *kind.Kind) bool { return k.Name == name })
	if i < 0 {
		return nil, false
	}
	return table()[i], true
}

// BackupJobs is the kind whose objects back up guests.
const BackupJobs = backupjob.Name

// Replications is the kind whose objects copy the volumes of guests.
const Replications = replication.Name

// AffinityRules is the kind whose objects say where the HA manager runs guests.
const AffinityRules = affinity.Name

// AffinityRule is what an enabled rule of affinity means for its guests.
type AffinityRule = affinity.Rule

// Conflict is a contradiction between the placement of a guest and a rule of affinity.
type Conflict = affinity.Conflict

// LiveRules returns the enabled rules of affinity that Proxmox has.
func LiveRules(objects []kind.Desired, live map[string]cluster.Object) []AffinityRule {
	return affinity.LiveRules(objects, live)
}

// Conflicts returns the contradictions between the placement of guests and the rules of affinity that manifests describe.
func Conflicts(objects []kind.Desired, guests []guest.Desired) []Conflict {
	return affinity.Conflicts(objects, guests)
}

// BackupEdits returns what a backup job backs up less now than before, by its keys. A key that is missing before has not changed.
func BackupEdits(before, now map[string]string) []kind.Weakening { return backupjob.Edits(before, now) }

// BackupMove returns what a guest that requires backups loses when it gets to other places. The world has the backup jobs that exist and stay, and all that exist; next are those that manifests
// want, as they want them.
func BackupMove(world kind.World, next map[string]cluster.Object, from, to kind.Place) []kind.Weakening {
	return backupjob.Move(world, next, from, to)
}

// BackupAdded returns the backup jobs, with how they keep their backups of a guest, from which another backup of the guest on a storage would take a place.
func BackupAdded(world kind.World, storage string, p kind.Place) []kind.Weakening {
	return backupjob.Added(world, storage, p)
}

// BackupStarved returns why an enabled backup job does not count as cover, "" if it counts.
func BackupStarved(keys map[string]string) string { return backupjob.Starved(keys) }

// NodesOf returns the nodes without which Proxmox refuses the objects.
func NodesOf(objects []kind.Desired) []string {
	var nodes []string
	for _, d := range objects {
		if k, known := Of(d.Kind); known && k.Nodes != nil {
			nodes = append(nodes, k.Nodes(d)...)
		}
	}
	return nodes
}

// GuestEdges returns the edges from a guest to the objects without which Proxmox does not create it as its manifest wants it.
func GuestEdges(from object.Key, d *guest.Desired) []edge.Edge {
	var list []edge.Edge
	if d.Pool != "" {
		list = append(list, edge.Edge{From: from, To: edge.Object(string(pool.Name), d.Pool), Why: edge.NeedsFirst, Field: "pool"})
	}
	if d.Firewall != nil {
		for _, need := range FirewallNeeds(d.Firewall) {
			list = append(list, edge.Edge{From: from, To: need.Key(), Why: edge.NeedsFirst, Field: "firewall"})
		}
	}
	return list
}

// FirewallNeeds returns the objects of the cluster that the firewall of a guest names.
func FirewallNeeds(f *guest.FirewallWanted) []kind.Need {
	return slices.Concat(alias.NeededBy(f), ipset.NeededBy(f), securitygroup.NeededBy(f))
}
