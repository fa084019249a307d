package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gitops-agent/reconcile/guest"
)

// readsPerNode is how many guests of a node are read at once. Proxmox has three workers for that; each finds its next call waiting when
// it is done with one, instead of waiting itself for as long as an answer and a question are on their way.
const readsPerNode = 6

// reading is what a look at one guest found.
type reading struct {
	vmid    int
	row     Row // where the guest was looked for; the zero Row is nowhere
	seen    guest.Observed
	absence Absence // "" is that it was seen
	err     error
}

// errAstray marks a guest that is not where the inventory has it, and that exists nevertheless: it moved, or is about to.
var errAstray = errors.New("the guest is not where the list has it")

// read reads guests in full. Those that turn out to have moved since the inventory was taken are looked for once more, with a new one.
func (o *observer) read(ctx context.Context, vmids []int) {
	readings := o.readEach(ctx, vmids)
	var moved []int
	for i, r := range readings {
		if errors.Is(r.err, errAstray) {
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
func (o *observer) follow(ctx context.Context, readings []reading, moved []int) {
	inventory, err := o.reader.Inventory(ctx)
	if err != nil {
		return // they stay astray
	}
	o.inventory = inventory
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
func (o *observer) readEach(ctx context.Context, vmids []int) []reading {
	readings := make([]reading, len(vmids))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(len(vmids), readsPerNode*max(1, o.inventory.nodes())) {
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
func (o *observer) lookAt(ctx context.Context, vmid int) reading {
	r := reading{vmid: vmid}
	row, listed := o.inventory.Row(vmid)
	known, wasSeen := o.seen[vmid]
	switch {
	case listed:
		r.row = row
		r.seen, r.err = o.full(ctx, row)
	case wasSeen:
		r.row = lastRow(known)
		r.seen, r.err = o.full(ctx, r.row)
	}
	unseen := !listed && !wasSeen
	if unseen || errors.Is(r.err, ErrNotExist) || !listed && errors.Is(r.err, ErrDenied) {
		r.absence, r.err = absent(ctx, o.reader, vmid)
	}
	if listed && r.absence == Hidden {
		r.absence, r.err = "", fmt.Errorf("read guest %d on %s: %w", vmid, row.Node, errAstray)
	}
	return r
}

// lastRow returns the row that a guest would have if it were as it was when it was last read. Its run state is to be asked.
func lastRow(known guest.Observed) Row {
	return Row{
		Kind: known.Kind, VMID: known.VMID, Node: known.Node, Name: known.Name, Status: guest.StatusUnknown, Template: known.Template, Pool: known.Pool,
	}
}

// take keeps what a look found. After one that failed the guest stays due, and the last reading stands with its age.
func (o *observer) take(r reading) {
	switch {
	case r.err != nil:
		o.absent[r.vmid], o.trouble[r.vmid] = Unknown, r.err.Error()
		return
	case r.absence != "":
		o.lose(r.vmid, r.absence)
	default:
		r.seen.Resource = o.seen[r.vmid].Resource // read elsewhere
		o.list.noteRead(o.seen[r.vmid], r.seen)
		o.seen[r.vmid] = r.seen
		o.inventory = o.inventory.with(r.row)
		delete(o.absent, r.vmid)
	}
	delete(o.due, r.vmid)
	delete(o.trouble, r.vmid)
}

// with returns the inventory with the row of a guest that it left out.
func (i Inventory) with(row Row) Inventory {
	at, listed := slices.BinarySearchFunc(i.Rows, row.VMID, func(r Row, v int) int { return cmp.Compare(r.VMID, v) })
	if !listed {
		i.Rows = slices.Insert(slices.Clone(i.Rows), at, row)
	}
	return i
}

// full reads a guest, and its run state where the inventory, which lags, tells another one than was known.
func (o *observer) full(ctx context.Context, row Row) (guest.Observed, error) {
	known, ok := o.seen[row.VMID]
	if ok && known.Status != row.Status || row.Status == guest.StatusUnknown {
		status, err := o.reader.Status(ctx, row)
		if err != nil {
			return guest.Observed{}, err
		}
		row.Status = status
	}
	return observe(ctx, o.reader, row, o.inventory.Version)
}

// observe reads a guest in full, and notes which release it lives on.
func observe(ctx context.Context, reader Reader, row Row, version guest.Version) (guest.Observed, error) {
	seen, err := reader.Observe(ctx, row)
	seen.Version = version
	return seen, err
}

// ReadAll reads the inventory and the guests of vmids in full, once, and the HA manager's list if there are any of underHA. A guest that
// could not be read is Unknown there.
func ReadAll(ctx context.Context, reader Reader, vmids, underHA []int) (Observed, error) {
	o := newObserver(reader, time.Second, time.Second)
	err := o.observe(ctx, vmids, underHA)
	return o.observed(), err
}
