package cluster

import (
	"cmp"
	"slices"
	"time"

	"gitops-agent/reconcile/guest"
)

// Inventory is one reading of /cluster/resources.
type Inventory struct {
	Rows        []Row    // sorted by vmid
	Offline     []string // nodes that are not part of the cluster now, sorted; they may be most of its nodes, so the cluster may have no quorum
	Maintenance []string // nodes in maintenance mode of the HA manager, sorted
	Capacity    Capacity // of all nodes
	ReadAt      time.Time
	Version     guest.Version // of the cluster; zero if unknown
}

// Row returns the row of a vmid, and whether the inventory has one.
func (i Inventory) Row(vmid int) (Row, bool) {
	at, found := slices.BinarySearchFunc(i.Rows, vmid, func(r Row, v int) int { return cmp.Compare(r.VMID, v) })
	if !found {
		return Row{}, false
	}
	return i.Rows[at], true
}

// Nodes returns the number of nodes that have guests.
func (i Inventory) Nodes() int {
	names := make(map[string]bool)
	for _, r := range i.Rows {
		names[r.Node] = true
	}
	return len(names)
}

// Members returns the names of the nodes that the list has, also of those that are offline, sorted.
func (i Inventory) Members() []string {
	names := slices.Clone(i.Offline)
	for _, n := range i.Capacity.Nodes {
		names = append(names, n.Node)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ShowsMinority reports whether most nodes are offline in the list: then the node that answers has no quorum, and the others may be well.
func (i Inventory) ShowsMinority() bool { return 2*len(i.Offline) > len(i.Capacity.Nodes) }

// Row is one guest of the inventory.
type Row struct {
	Kind     guest.Kind
	VMID     int
	Node     string
	Name     string // "" until the statistics daemon has read the guest
	Status   guest.Status
	Template bool
	Lock     string
	Tags     string // as Proxmox joins them: "a;b"
	Pool     string
	HAState  string
	MaxMem   int64 // bytes
	MaxDisk  int64 // bytes
	MaxCPU   float64
	Uptime   time.Duration // of the guest's process, in whole seconds; 0 if it does not run
}

// With returns the inventory with an additional row, for a guest that the inventory omitted.
func (i Inventory) With(row Row) Inventory {
	at, listed := slices.BinarySearchFunc(i.Rows, row.VMID, func(r Row, v int) int { return cmp.Compare(r.VMID, v) })
	if !listed {
		i.Rows = slices.Insert(slices.Clone(i.Rows), at, row)
	}
	return i
}
