package observe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// readsPerNode is how many guests of a node are read at once. Proxmox has three workers for that; each finds its next call waiting when
// it is done with one, instead of waiting itself for as long as an answer and a question are on their way.
const readsPerNode = 6

// reading is what a look at one guest found.
type reading struct {
	vmid    int
	row     cluster.Row // where the guest was looked for; the zero Row is nowhere
	seen    guest.Observed
	absence cluster.Absence // "" is that it was seen
	err     error
}

// ErrAstray marks a guest that is not where the inventory has it, and that exists nevertheless: it moved, or is about to.
var ErrAstray = errors.New("the guest is not where the list has it")

// read reads guests in full. Those that turn out to have moved since the inventory was taken are looked for once more, with a new one.
func (o *Observer) read(ctx context.Context, vmids []int) {
	readings := o.readEach(ctx, vmids)
	var moved []int
	for i, r := range readings {
		if errors.Is(r.err, ErrAstray) {
			moved = append(moved, i)
		}
	}
	if len(moved) > 0 {
		o.follow(ctx, readings, moved)
	}
	for _, r := range readings {
		o.take(r)
	}
}

// follow reads guests that are not where they were, where a new inventory has them.
func (o *Observer) follow(ctx context.Context, readings []reading, moved []int) {
	inventory, err := o.reader.Inventory(ctx)
	if err != nil {
		return // they stay astray
	}
	o.Inventory = inventory
	var vmids, at []int
	for _, i := range moved {
		if row, listed := inventory.Row(readings[i].vmid); !listed || row.Node != readings[i].row.Node {
			vmids, at = append(vmids, readings[i].vmid), append(at, i)
		}
	}
	for i, r := range o.readEach(ctx, vmids) {
		readings[at[i]] = r
	}
}

// readEach looks at guests, a few at a time.
func (o *Observer) readEach(ctx context.Context, vmids []int) []reading {
	readings := make([]reading, len(vmids))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(len(vmids), readsPerNode*max(1, o.Inventory.Nodes())) {
		readers.Go(func() { // its stack, once grown, serves many guests
			for i := int(next.Add(1)) - 1; i < len(vmids); i = int(next.Add(1)) - 1 {
				readings[i] = o.lookAt(ctx, vmids[i])
			}
		})
	}
	readers.Wait()
	return readings
}

// lookAt reads a guest where the inventory has it, or else where it was last. Only the cluster's own word for the vmid makes it Gone.
func (o *Observer) lookAt(ctx context.Context, vmid int) reading {
	r := reading{vmid: vmid}
	row, listed := o.Inventory.Row(vmid)
	known, wasSeen := o.Seen[vmid]
	switch {
	case listed:
		r.row = row
		r.seen, r.err = o.full(ctx, row)
	case wasSeen:
		r.row = lastRow(known)
		r.seen, r.err = o.full(ctx, r.row)
	}
	unseen := !listed && !wasSeen
	if unseen || errors.Is(r.err, cluster.ErrNotExist) || !listed && errors.Is(r.err, cluster.ErrDenied) {
		r.absence, r.err = Absent(ctx, o.reader, vmid)
	}
	if listed && r.absence == cluster.Hidden {
		r.absence, r.err = "", fmt.Errorf("read guest %d on %s: %w", vmid, row.Node, ErrAstray)
	}
	return r
}

// lastRow returns the row that a guest would have if it were as it was when it was last read. Its run state is to be asked.
func lastRow(known guest.Observed) cluster.Row {
	return cluster.Row{
		Kind: known.Kind, VMID: known.VMID, Node: known.Node, Name: known.Name, Status: guest.StatusUnknown, Template: known.Template, Pool: known.Pool,
	}
}

// take keeps what a look found. After one that failed the guest stays due, and the last reading stands with its age.
func (o *Observer) take(r reading) {
	switch {
	case r.err != nil:
		o.Absent[r.vmid], o.trouble[r.vmid] = cluster.Unknown, r.err.Error()
		return
	case r.absence != "":
		o.lose(r.vmid, r.absence)
	default:
		r.seen.Resource = o.Seen[r.vmid].Resource // read elsewhere
		o.List.noteRead(o.Seen[r.vmid], r.seen)
		o.Seen[r.vmid] = r.seen
		o.Inventory = o.Inventory.With(r.row)
		delete(o.Absent, r.vmid)
	}
	delete(o.due, r.vmid)
	delete(o.trouble, r.vmid)
}

// full reads a guest, and its run state where the inventory, which lags, tells another one than was known.
func (o *Observer) full(ctx context.Context, row cluster.Row) (guest.Observed, error) {
	known, ok := o.Seen[row.VMID]
	if ok && known.Status != row.Status || row.Status == guest.StatusUnknown {
		status, err := o.reader.Status(ctx, row)
		if err != nil {
			return guest.Observed{}, err
		}
		row.Status = status
	}
	return ReadGuest(ctx, o.reader, row, o.Inventory.Version)
}

// ReadGuest reads a guest in full, and notes which release it lives on.
func ReadGuest(ctx context.Context, reader cluster.Reader, row cluster.Row, version guest.Version) (guest.Observed, error) {
	seen, err := reader.Observe(ctx, row)
	seen.Version = version
	return seen, err
}

// ReadAll reads the inventory and the guests of vmids in full, once, and the HA manager's list if there are any of underHA. A guest that
// could not be read is Unknown there.
func ReadAll(ctx context.Context, reader cluster.Reader, vmids, underHA []int) (cluster.Snapshot, error) {
	o := New(reader, time.Second, time.Second)
	err := o.Observe(ctx, vmids, underHA)
	return o.Snapshot(), err
}
