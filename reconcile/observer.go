package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"gitops-agent/reconcile/guest"
)

// observer keeps the newest full reading of every guest that matters. It reads a guest when its inventory row changed, when somebody
// asks for it, and when its turn in the rolling sweep comes, so that every guest is read within resync. It belongs to the engine.
type observer struct {
	cluster Reader
	tick    time.Duration
	resync  time.Duration

	inventory Inventory
	seen      map[int]guest.Observed
	absent    map[int]Absence
	trouble   map[int]string // why the last look at a guest failed
	due       map[int]bool   // to be read at the next tick, ahead of the sweep
}

func newObserver(cluster Reader, tick, resync time.Duration) *observer {
	return &observer{
		cluster: cluster, tick: tick, resync: resync,
		seen: make(map[int]guest.Observed), absent: make(map[int]Absence),
		trouble: make(map[int]string), due: make(map[int]bool),
	}
}

// observe takes the inventory and reads the guests of vmids that are due. A guest that cannot be read is that guest's
// trouble, and the others are kept all the same; only an inventory that fails is an error.
func (o *observer) observe(ctx context.Context, vmids []int) error {
	inventory, err := o.cluster.Inventory(ctx)
	if err != nil {
		return err
	}
	o.markChanged(inventory)
	o.inventory = inventory
	o.forget(vmids)
	o.read(ctx, o.choose(vmids, time.Now()))
	return nil
}

// markChanged makes every guest due whose row says something else than what is known of it. The row itself is not believed.
func (o *observer) markChanged(next Inventory) {
	for _, row := range next.Rows {
		before, listed := o.inventory.row(row.VMID)
		seen, known := o.seen[row.VMID]
		if !listed || before != row || known && row.Status != seen.Status && row.Status != guest.StatusUnknown {
			o.due[row.VMID] = true
		}
	}
	for _, row := range o.inventory.Rows {
		if _, listed := next.row(row.VMID); !listed {
			o.due[row.VMID] = true
		}
	}
}

// forget drops what is known of guests that do not matter any more.
func (o *observer) forget(vmids []int) {
	wanted := make(map[int]bool, len(vmids))
	for _, v := range vmids {
		wanted[v] = true
	}
	keepOnly(o.seen, wanted)
	keepOnly(o.absent, wanted)
	keepOnly(o.trouble, wanted)
	keepOnly(o.due, wanted)
}

func keepOnly[T any](entries map[int]T, wanted map[int]bool) {
	maps.DeleteFunc(entries, func(vmid int, _ T) bool { return !wanted[vmid] })
}

// choose returns the vmids to read now: those due, those never read or absent, and the oldest readings, as many as a tick's
// share of the sweep.
func (o *observer) choose(vmids []int, now time.Time) []int {
	var chosen, rest []int
	for _, v := range vmids {
		if _, known := o.seen[v]; !known || o.due[v] {
			chosen = append(chosen, v)
		} else {
			rest = append(rest, v)
		}
	}
	slices.SortFunc(rest, func(a, b int) int { return o.seen[a].ReadAt.Compare(o.seen[b].ReadAt) })
	share := 1 + len(vmids)*int(o.tick)/int(max(o.resync, o.tick))
	for _, v := range rest {
		if share <= 0 && now.Sub(o.seen[v].ReadAt) < o.resync {
			break
		}
		chosen = append(chosen, v)
		share--
	}
	return chosen
}

// readsPerNode is how many guests of a node are read at once: as many as Proxmox has workers for.
const readsPerNode = 3

// read reads guests in full, a few at a time.
func (o *observer) read(ctx context.Context, vmids []int) {
	type reading struct {
		vmid    int
		seen    guest.Observed
		absence Absence
		err     error
	}
	readings := make([]reading, len(vmids))
	limit := make(chan struct{}, readsPerNode*max(1, o.inventory.nodes()))
	var wg sync.WaitGroup
	for i, v := range vmids {
		row, listed := o.inventory.row(v)
		limit <- struct{}{}
		wg.Go(func() {
			defer func() { <-limit }()
			r := &readings[i]
			r.vmid = v
			if listed {
				r.seen, r.err = o.full(ctx, row)
			}
			if !listed || errors.Is(r.err, ErrNotExist) {
				r.absence, r.err = absent(ctx, o.cluster, v)
			}
		})
	}
	wg.Wait()
	for _, r := range readings {
		switch {
		case r.err != nil:
			o.absent[r.vmid], o.trouble[r.vmid] = Unknown, r.err.Error()
			continue // it stays due, and the last reading stands with its age
		case r.absence != "":
			delete(o.seen, r.vmid)
			o.absent[r.vmid] = r.absence
		default:
			o.seen[r.vmid] = r.seen
			delete(o.absent, r.vmid)
		}
		delete(o.due, r.vmid)
		delete(o.trouble, r.vmid)
	}
}

// full reads a guest, and its run state where the inventory, which lags, tells another one than was known.
func (o *observer) full(ctx context.Context, row Row) (guest.Observed, error) {
	known, ok := o.seen[row.VMID]
	if ok && known.Status != row.Status || row.Status == guest.StatusUnknown {
		status, err := o.cluster.Status(ctx, row)
		if err != nil {
			return guest.Observed{}, err
		}
		row.Status = status
	}
	return observe(ctx, o.cluster, row, o.inventory.Version)
}

// observe reads a guest in full, and notes which release it lives on.
func observe(ctx context.Context, cluster Reader, row Row, version guest.Version) (guest.Observed, error) {
	seen, err := cluster.Observe(ctx, row)
	seen.Version = version
	return seen, err
}

// doubt marks what was read too long ago to be told as news, while the cluster does not answer.
func (o *observer) doubt(now time.Time, err error) {
	for vmid, seen := range o.seen {
		if now.Sub(seen.ReadAt) > 2*max(o.resync, o.tick) {
			o.absent[vmid], o.trouble[vmid] = Unknown, err.Error()
			o.due[vmid] = true
		}
	}
}

// learn takes what a lane saw, which is newer than any sweep.
func (o *observer) learn(f finding) {
	switch {
	case f.absence != "":
		delete(o.seen, f.vmid)
		o.absent[f.vmid] = f.absence
	case f.seen.VMID != 0:
		o.seen[f.vmid] = f.seen
		delete(o.absent, f.vmid)
		delete(o.trouble, f.vmid)
	}
	if f.ran > 0 || f.err != nil {
		o.due[f.vmid] = true
	}
}

// dueAll makes every guest due for a full read.
func (o *observer) dueAll() {
	for v := range o.seen {
		o.due[v] = true
	}
}

// ReadAll reads the inventory and the guests of vmids in full, once. A guest that could not be read is Unknown there.
func ReadAll(ctx context.Context, cluster Reader, vmids []int) (Observed, error) {
	o := newObserver(cluster, time.Second, time.Second)
	err := o.observe(ctx, vmids)
	return o.observed(), err
}

// observed returns everything that was seen.
func (o *observer) observed() Observed {
	return Observed{Inventory: o.inventory, Guests: o.seen, Absent: o.absent, Trouble: o.trouble}
}
