package reconcile

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"gitops-agent/reconcile/guest"
)

// observer keeps the newest full reading of every guest that matters. It reads a guest when its inventory row changed, when somebody
// asks for it, and when its turn in the rolling sweep comes, so that every guest is read within resync; where Proxmox's own list of
// guests vouches for what is known of a guest, within check. It belongs to the engine.
type observer struct {
	reader Reader
	tick   time.Duration
	resync time.Duration
	check  time.Duration
	list   *vmlistWatch // nil without a file

	inventory Inventory
	seen      map[int]guest.Observed
	absent    map[int]Absence
	trouble   map[int]string // why the last look at a guest failed
	due       map[int]bool   // to be read at the next tick, ahead of the sweep
	haTrouble string         // why the HA manager's resources could not be read
}

func newObserver(reader Reader, tick, resync time.Duration) *observer {
	return &observer{
		reader: reader, tick: tick, resync: resync, check: resync,
		seen: make(map[int]guest.Observed), absent: make(map[int]Absence),
		trouble: make(map[int]string), due: make(map[int]bool),
	}
}

// trust lets the list of guests in a file spare guests their turn in the sweep; they are read within check all the same.
func (o *observer) trust(path string, check time.Duration) {
	if path != "" {
		o.list, o.check = newVMListWatch(path), check
	}
}

// observe takes the inventory and reads the guests of vmids that are due. A guest that cannot be read is that guest's
// trouble, and the others are kept all the same; only an inventory that fails is an error. underHA are those of vmids whose
// manifests say what the HA manager does with them.
func (o *observer) observe(ctx context.Context, vmids, underHA []int) error {
	if o.list != nil {
		o.list.look(time.Now())
	}
	inventory, err := o.reader.Inventory(ctx)
	if err != nil {
		return err
	}
	o.markChanged(inventory)
	o.inventory = inventory
	o.markListed(vmids)
	o.forget(vmids)
	o.read(ctx, o.choose(vmids, time.Now()))
	o.readHA(ctx, underHA)
	return nil
}

// markChanged makes every guest due whose row says something else than what is known of it. The row itself is not believed.
func (o *observer) markChanged(next Inventory) {
	for _, row := range next.Rows {
		before, listed := o.inventory.Row(row.VMID)
		seen, known := o.seen[row.VMID]
		if !listed || before != row || known && row.Status != seen.Status && row.Status != guest.StatusUnknown {
			o.due[row.VMID] = true
		}
	}
	for _, row := range o.inventory.Rows {
		if _, listed := next.Row(row.VMID); !listed {
			o.due[row.VMID] = true
		}
	}
}

// markListed makes every guest due whose entry in Proxmox's list of guests changed.
func (o *observer) markListed(vmids []int) {
	if o.list == nil {
		return
	}
	o.list.compare(o.inventory)
	for _, vmid := range vmids {
		if o.list.changed(vmid) {
			o.due[vmid] = true
		}
	}
}

// forget drops what is known of guests that do not matter any more.
func (o *observer) forget(vmids []int) {
	wanted := make(map[int]bool, len(vmids))
	for _, v := range vmids {
		wanted[v] = true
	}
	for vmid := range o.seen {
		if !wanted[vmid] {
			o.list.forget(vmid)
		}
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
// share of the sweep. Those that the list of guests spares have a slower sweep of their own.
func (o *observer) choose(vmids []int, now time.Time) []int {
	var chosen, rest, spared []int
	for _, v := range vmids {
		switch _, known := o.seen[v]; {
		case !known || o.due[v]:
			chosen = append(chosen, v)
		case o.list.spares(v):
			spared = append(spared, v)
		default:
			rest = append(rest, v)
		}
	}
	share := 1 + o.share(len(vmids)-len(spared), o.resync)
	chosen = append(chosen, o.oldest(rest, share, now.Add(-o.resync))...)
	return append(chosen, o.oldest(spared, o.share(len(spared), o.check), now.Add(-o.check))...)
}

// share returns how many of n guests a tick has to read, so that all are within a time.
func (o *observer) share(n int, within time.Duration) int {
	return n * int(o.tick) / int(max(within, o.tick))
}

// oldest returns at least n guests, those with the oldest readings, and all whose reading is not newer than due.
func (o *observer) oldest(vmids []int, n int, due time.Time) []int {
	slices.SortFunc(vmids, func(a, b int) int { return o.seen[a].ReadAt.Compare(o.seen[b].ReadAt) })
	for i, v := range vmids {
		if i >= n && o.seen[v].ReadAt.After(due) {
			return vmids[:i]
		}
	}
	return vmids
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

// stale reports whether the newest reading of a guest is twice as old as it should ever be.
func (o *observer) stale(vmid int, now time.Time) bool {
	seen, known := o.seen[vmid]
	within := o.resync
	if o.list.spares(vmid) {
		within = o.check
	}
	return known && now.Sub(seen.ReadAt) > 2*max(within, o.tick)
}

// sighting is what a lane read of its guest last.
type sighting struct {
	vmid    int
	seen    guest.Observed // the zero value if the guest was not read
	absence Absence        // "" if the guest was read
	again   bool           // the guest must be read again: the lane changed it, or failed
}

// learn takes a lane's reading if it is newer than the observer's own.
func (o *observer) learn(s sighting) {
	switch {
	case s.absence != "":
		o.lose(s.vmid, s.absence)
	case s.seen.VMID != 0 && !s.seen.ReadAt.Before(o.seen[s.vmid].ReadAt):
		o.seen[s.vmid] = s.seen
		delete(o.absent, s.vmid)
		delete(o.trouble, s.vmid)
	}
	if s.again {
		o.due[s.vmid] = true
	}
}

// lose takes that a guest is not there, or not to be seen.
func (o *observer) lose(vmid int, absence Absence) {
	delete(o.seen, vmid)
	o.absent[vmid] = absence
	o.list.forget(vmid)
}

// dueAll makes every guest due for a full read.
func (o *observer) dueAll() {
	for v := range o.seen {
		o.due[v] = true
	}
}

// dueChanged makes every guest due of which another revision wants something else.
func (o *observer) dueChanged(before, after []guest.Desired) {
	wanted := make(map[int]*guest.Desired, len(before))
	for i := range before {
		wanted[before[i].VMID] = &before[i]
	}
	for i := range after {
		if d := &after[i]; wanted[d.VMID] == nil || !reflect.DeepEqual(*wanted[d.VMID], *d) {
			o.due[d.VMID] = true
		}
		delete(wanted, after[i].VMID)
	}
	for vmid := range wanted {
		o.due[vmid] = true
	}
}

// observingDoubts is what observing had to do without. An empty one is nothing.
type observingDoubts struct{ list, ha string }

func (o *observer) doubts() observingDoubts {
	d := observingDoubts{ha: o.haTrouble}
	if o.list != nil {
		d.list = o.list.trouble
	}
	return d
}

// observed returns everything that was seen.
func (o *observer) observed() Observed {
	return Observed{Inventory: o.inventory, Guests: o.seen, Absent: o.absent, Trouble: o.trouble}
}
