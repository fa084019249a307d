package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/placement"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// lacksRoom returns the nodes that have less memory, or fewer processors, than one virtual machine that may be on no other node, and the storages on which the disks of new guests,
// and those that others get, are larger than what is free. The first cannot work: the machine does not start. The second is a warning: space becomes free, and a thin storage takes only what is
// written. What was not read lacks nothing.
func lacksRoom(guests []guest.Desired, around ClusterContext) []Unresolved {
	var found []Unresolved
	for i := range guests {
		if u, lacks := tooLarge(&guests[i], around); lacks {
			found = append(found, u)
		}
	}
	return append(found, fullStorages(guests, around)...)
}

// tooLarge returns the problem of a virtual machine that has more memory, or more processors, than each node on which it may be. A container with higher limits than its node
// starts.
func tooLarge(d *guest.Desired, around ClusterContext) (Unresolved, bool) {
	nodes := possibleNodes(d, around)
	if d.Kind != guest.VirtualMachine || len(nodes) == 0 {
		return Unresolved{}, false
	}
	memory, vcpus, _ := placement.Needs(d, ownOrTemplate(d, around))
	capacities := make([]cluster.NodeCapacity, len(nodes))
	for i, node := range nodes {
		capacities[i] = nodeCapacity(node, around)
	}
	exceeds := func(needed float64, has func(cluster.NodeCapacity) float64) (cluster.NodeCapacity, bool) {
		largest := slices.MaxFunc(capacities, func(a, b cluster.NodeCapacity) int { return cmp.Compare(has(a), has(b)) })
		isKnown := !slices.ContainsFunc(capacities, func(c cluster.NodeCapacity) bool { return has(c) == 0 })
		return largest, isKnown && needed > has(largest)
	}
	if node, lacks := exceeds(float64(memory), func(c cluster.NodeCapacity) float64 { return float64(c.MaxMem) }); lacks {
		return Unresolved{
			What: "node", Name: node.Node, Problem: fmt.Sprintf("has %s of memory, and the guest gets %s", cluster.InGiB(node.MaxMem), cluster.InGiB(memory)),
			Hint: reason.LargerNode.Text, For: []Cause{causeOfKeys(d, "memory")},
		}, true
	}
	if node, lacks := exceeds(vcpus, func(c cluster.NodeCapacity) float64 { return c.CPUs }); lacks {
		return Unresolved{
			What: "node", Name: node.Node, Problem: fmt.Sprintf("has %g processors, and the guest gets %g", node.CPUs, vcpus),
			Hint: reason.LargerNode.Text, For: []Cause{causeOfKeys(d, "cores", "sockets")},
		}, true
	}
	return Unresolved{}, false
}

// causeOfKeys returns the first of some keys that a guest wants, or the first key at the guest itself.
func causeOfKeys(d *guest.Desired, keys ...string) Cause {
	for _, key := range keys {
		if i := slices.IndexFunc(d.Intents, func(in guest.Intent) bool { return in.Key == key && in.Verb == guest.Want }); i >= 0 {
			return Cause{d.Ref, key, d.Intents[i].Origin}
		}
	}
	return Cause{d.Ref, keys[0], d.PlaceOf(keys[0])}
}

// ownOrTemplate returns the row of a guest, or of the guest that it is cloned from; the zero Row without both.
func ownOrTemplate(d *guest.Desired, around ClusterContext) cluster.Row {
	row, exists := around.Inventory.Row(d.VMID)
	if !exists && d.Source.Clone != nil {
		row, _ = plan.FindTemplate(d, around.Inventory)
	}
	return row
}

// nodeCapacity returns the capacity of a node, the zero value if it is not known.
func nodeCapacity(node string, around ClusterContext) cluster.NodeCapacity {
	for _, c := range around.Inventory.Capacity.Nodes {
		if c.Node == node {
			return c
		}
	}
	return cluster.NodeCapacity{}
}

// fullStorages returns the storages on which what new guests, and the changes of others, take does not fit together. A new guest counts if there is only one node for it.
func fullStorages(guests []guest.Desired, around ClusterContext) []Unresolved {
	type place struct{ storage, node string } // without a node for a shared storage
	needs, causes := map[place]int64{}, map[place][]Cause{}
	capacities := map[place]cluster.StorageCapacity{}
	take := func(node, storage string, size int64, cause Cause) {
		c, listed := around.Inventory.Capacity.Storage(node, storage)
		if !listed || size == 0 {
			return
		}
		p := place{storage, c.Node}
		if c.Shared {
			p.node = ""
		}
		capacities[p] = c
		needs[p] += size
		causes[p] = append(causes[p], cause)
	}
	for i := range guests {
		d := &guests[i]
		nodes := possibleNodes(d, around)
		if _, exists := around.Inventory.Row(d.VMID); exists || len(nodes) != 1 {
			continue
		}
		space := spaceOf(d, around)
		for _, storage := range slices.Sorted(maps.Keys(space)) {
			take(nodes[0], storage, space[storage], causeOfStorage(d, storage))
		}
	}
	for _, t := range around.Takings {
		take(t.Node, t.Storage, t.Size, Cause{t.Ref, t.Key, t.Origin})
	}
	var found []Unresolved
	for _, p := range slices.SortedFunc(maps.Keys(needs), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.storage, b.storage), cmp.Compare(a.node, b.node))
	}) {
		c := capacities[p]
		free := c.Size - c.Used
		if !c.Available || c.Size == 0 || needs[p] <= free {
			continue
		}
		found = append(found, Unresolved{
			What: "storage", Name: p.storage, Warning: true, For: causes[p],
			Problem: fmt.Sprintf("has %s free on %s, and the new and grown disks take %s", cluster.InGiB(free), c.Node, cluster.InGiB(needs[p])),
			Hint:    "free space, or choose another storage; one that allocates what is written, such as LVM-thin or ZFS, may do for now",
		})
	}
	return found
}

// causeOfStorage returns the first key of a new guest that puts a disk on a storage.
func causeOfStorage(d *guest.Desired, storage string) Cause {
	for _, in := range d.Intents {
		if in.Verb == guest.Want && in.Sub["storage"] == storage {
			return Cause{d.Ref, in.Key, in.Origin}
		}
	}
	return Cause{d.Ref, keySource, d.PlaceOf(keySource)}
}
