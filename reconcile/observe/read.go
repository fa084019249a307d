package observe

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// readsPerNode is how many guests of a node are read at the same time. Proxmox answers with three workers. With six requests in flight each
// worker finds its next request waiting, instead of waiting for a reply and the next request to travel.
const readsPerNode = 6

// read reads guests in full. It looks once more, with a new inventory, for guests that moved since the inventory was taken.
func (o *Observer) read(ctx context.Context, vmids []int) {
	readings := o.readEach(ctx, vmids)
	var moved []int // indices of readings
	for i, r := range readings {
		if errors.Is(r.Err, ErrMoved) {
			moved = append(moved, i)
		}
	}
	if len(moved) > 0 {
		o.readMoved(ctx, readings, moved)
	}
	for _, r := range readings {
		o.keep(r)
	}
}

// readMoved replaces the readings of moved guests by readings where a new inventory lists them.
func (o *Observer) readMoved(ctx context.Context, readings []Reading, moved []int) {
	inventory, err := o.reader.Inventory(ctx)
	if err != nil {
		return // the readings keep ErrMoved
	}
	o.inventory = inventory
	var vmids, at []int
	for _, i := range moved {
		if row, listed := inventory.Row(readings[i].VMID); !listed || row.Node != readings[i].Row.Node {
			vmids, at = append(vmids, readings[i].VMID), append(at, i)
		}
	}
	for i, r := range o.readEach(ctx, vmids) {
		readings[at[i]] = r
	}
}

// readEach looks for guests with a bounded number of requests in flight.
func (o *Observer) readEach(ctx context.Context, vmids []int) []Reading {
	readings := make([]Reading, len(vmids))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(len(vmids), readsPerNode*max(1, o.inventory.Nodes())) {
		readers.Go(func() { // one goroutine reads many guests, so that its stack grows once
			for i := int(next.Add(1)) - 1; i < len(vmids); i = int(next.Add(1)) - 1 {
				row, listed := o.rowOf(vmids[i])
				readings[i] = Find(ctx, o.reader, row, listed, o.inventory.Version)
			}
		})
	}
	readers.Wait()
	return readings
}

// rowOf returns where to look for a guest, and whether the inventory lists it: its row there, or else the place of the last reading. The
// inventory lags, so the run state is unknown where it differs from the last reading.
func (o *Observer) rowOf(vmid int) (cluster.Row, bool) {
	row, listed := o.inventory.Row(vmid)
	known, wasSeen := o.seen[vmid]
	switch {
	case listed && wasSeen && known.Status != row.Status:
		row.Status = guest.StatusUnknown
	case !listed && wasSeen:
		row = cluster.Row{
			Kind: known.Kind, VMID: vmid, Node: known.Node, Name: known.Name, Status: guest.StatusUnknown, Template: known.Template, Pool: known.Pool,
		}
	case !listed:
		row = cluster.Row{VMID: vmid}
	}
	return row, listed
}

// keep stores a reading. After a failure the guest stays due, and its last reading keeps its age.
func (o *Observer) keep(r Reading) {
	switch {
	case r.Err != nil:
		o.absent[r.VMID], o.trouble[r.VMID] = cluster.Unknown, r.Err.Error()
		return
	case r.Absence != "":
		o.remove(r.VMID, r.Absence)
	default:
		r.Seen.Resource = o.seen[r.VMID].Resource // readHA reads it
		o.list.noteRead(o.seen[r.VMID], r.Seen)
		o.seen[r.VMID] = r.Seen
		o.inventory = o.inventory.With(r.Row)
		delete(o.absent, r.VMID)
	}
	delete(o.due, r.VMID)
	delete(o.trouble, r.VMID)
}
