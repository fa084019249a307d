package placement

import (
	"slices"
	"strconv"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// load is what a node has, and what is taken of it: by guests that run, and by guests that will run there.
type load struct {
	cluster.NodeCapacity
	running  int64           // bytes of memory that the guests which run have
	reserved int64           // bytes of memory of guests that were placed or are created, and do not run yet
	cpus     float64         // logical processors of all these guests
	guests   map[string]bool // labels, or vmids of guests without a manifest; no templates
	storages map[string]cluster.StorageCapacity
}

// memory returns the memory that is taken. A guest that has just started uses less than it has, and a node needs some for itself.
func (l *load) memory() int64 { return max(l.Mem, l.running) + l.reserved }

// loads returns the load of each node by its name.
func loads(in Input) map[string]*load {
	nodes := make(map[string]*load, len(in.Inventory.Capacity.Nodes))
	for _, c := range in.Inventory.Capacity.Nodes {
		nodes[c.Node] = &load{NodeCapacity: c, guests: map[string]bool{}, storages: map[string]cluster.StorageCapacity{}}
	}
	for _, s := range in.Inventory.Capacity.Storages {
		if l := nodes[s.Node]; l != nil {
			l.storages[s.Storage] = s
		}
	}
	wanted := make(map[int]*guest.Desired, len(in.Guests))
	for i := range in.Guests {
		wanted[in.Guests[i].VMID] = &in.Guests[i]
	}
	delete(wanted, 0)
	for _, row := range in.Inventory.Rows {
		l := nodes[row.Node]
		if l == nil || row.Template {
			continue
		}
		if d := wanted[row.VMID]; d == nil || !isMoving(d, row) {
			l.guests[nameOf(d, row)] = true
		}
		if row.Status == guest.StatusRunning {
			l.running += row.MaxMem
			l.cpus += row.MaxCPU
		}
	}
	for i := range in.Guests {
		reserve(in, nodes, &in.Guests[i])
	}
	return nodes
}

// isMoving reports whether a guest was placed on another node and has not arrived: a clone is created on the node of its template.
func isMoving(d *guest.Desired, row cluster.Row) bool {
	return d.Placement != nil && d.Node != "" && d.Node != row.Node && row.Status != guest.StatusRunning
}

// reserve counts a guest that does not run yet on the node where it will: because its creation is planned or under way, or because it was created and
// its manifest wants it to run.
func reserve(in Input, nodes map[string]*load, d *guest.Desired) {
	row, listed := in.Inventory.Row(d.VMID)
	node := d.Node
	if listed && !isMoving(d, row) {
		node = row.Node
	}
	l := nodes[node]
	switch {
	case l == nil || d.Template || d.Invalid != nil:
	case !listed:
		n := needOf(d, in.template(d))
		l.take(d, n)
		takeStorages(nodes, node, n)
	case row.Status != guest.StatusRunning && (isMoving(d, row) || d.WantedState() == guest.Running):
		l.take(d, needOf(d, row))
	}
}

func (l *load) take(d *guest.Desired, n need) {
	l.guests[d.Label()] = true
	l.reserved += n.memory
	l.cpus += n.cpus
}

// takeStorages counts the disks of a guest. A shared storage is taken on every node.
func takeStorages(nodes map[string]*load, node string, n need) {
	for storage, size := range n.storages {
		own := nodes[node].storages[storage]
		for name, l := range nodes {
			if s, has := l.storages[storage]; has && (name == node || s.Shared && own.Shared) {
				s.Used += size
				l.storages[storage] = s
			}
		}
	}
}

// nameOf returns by what a guest is known: the label of its manifest, or else its vmid.
func nameOf(d *guest.Desired, row cluster.Row) string {
	if d != nil {
		return d.Label()
	}
	return strconv.Itoa(row.VMID)
}

// template returns the guest that another one is cloned from; the zero Row if there is none, or several that the manifest could mean.
func (in Input) template(d *guest.Desired) cluster.Row {
	clone := d.Source.Clone
	if clone == nil {
		return cluster.Row{}
	}
	i := slices.IndexFunc(in.Inventory.Rows, func(row cluster.Row) bool {
		return row.Kind == d.Kind && (row.VMID == clone.VMID || clone.VMID == 0 && row.Template && row.Name == clone.Name)
	})
	if i < 0 {
		return cluster.Row{}
	}
	return in.Inventory.Rows[i]
}
