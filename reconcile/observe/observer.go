package observe

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Observer keeps the newest full reading of every guest that matters. It reads a guest when its inventory row changed, when somebody
// asks for it, and when its turn in the rolling sweep comes, so that every guest is read within resync; where Proxmox's own list of
// guests vouches for what is known of a guest, within check. It belongs to the engine.
type Observer struct {
	reader cluster.Reader
	tick   time.Duration
	resync time.Duration
	check  time.Duration
	List   *vmlistWatch // nil without a file

	Inventory cluster.Inventory
	Seen      map[int]guest.Observed
	Absent    map[int]cluster.Absence
	trouble   map[int]string // why the last look at a guest failed
	due       map[int]bool   // to be read at the next tick, ahead of the sweep
	HaTrouble string         // why the HA manager's resources could not be read
}

func New(reader cluster.Reader, tick, resync time.Duration) *Observer {
	return &Observer{
		reader: reader, tick: tick, resync: resync, check: resync,
		Seen: make(map[int]guest.Observed), Absent: make(map[int]cluster.Absence),
		trouble: make(map[int]string), due: make(map[int]bool),
	}
}

// UseVMList lets the list of guests in a file spare guests their turn in the sweep; they are read within check all the same.
func (o *Observer) UseVMList(path string, check time.Duration) {
	if path != "" {
		o.List, o.check = newVMListWatch(path), check
	}
}

// Observe takes the inventory and reads the guests of vmids that are due. A guest that cannot be read is that guest's
// trouble, and the others are kept all the same; only an inventory that fails is an error. underHA are those of vmids whose
// manifests say what the HA manager does with them.
func (o *Observer) Observe(ctx context.Context, vmids, underHA []int) error {
	if o.List != nil {
		o.List.look(time.Now())
	}
	inventory, err := o.reader.Inventory(ctx)
	if err != nil {
		return err
	}
	o.markChanged(inventory)
	o.Inventory = inventory
	o.markListed(vmids)
	o.forget(vmids)
	o.read(ctx, o.choose(vmids, time.Now()))
	o.readHA(ctx, underHA)
	return nil
}

// markChanged makes every guest due whose row says something else than what is known of it. The row itself is not believed.
func (o *Observer) markChanged(next cluster.Inventory) {
	for _, row := range next.Rows {
		before, listed := o.Inventory.Row(row.VMID)
		seen, known := o.Seen[row.VMID]
		if !listed || before != row || known && row.Status != seen.Status && row.Status != guest.StatusUnknown {
			o.due[row.VMID] = true
		}
	}
	for _, row := range o.Inventory.Rows {
		if _, listed := next.Row(row.VMID); !listed {
			o.due[row.VMID] = true
		}
	}
}

// markListed makes every guest due whose entry in Proxmox's list of guests changed.
func (o *Observer) markListed(vmids []int) {
	if o.List == nil {
		return
	}
	o.List.compare(o.Inventory)
	for _, vmid := range vmids {
		if o.List.changed(vmid) {
			o.due[vmid] = true
		}
	}
}

// forget drops what is known of guests that do not matter any more.
func (o *Observer) forget(vmids []int) {
	wanted := make(map[int]bool, len(vmids))
	for _, v := range vmids {
		wanted[v] = true
	}
	for vmid := range o.Seen {
		if !wanted[vmid] {
			o.List.forget(vmid)
		}
	}
	keepOnly(o.Seen, wanted)
	keepOnly(o.Absent, wanted)
	keepOnly(o.trouble, wanted)
	keepOnly(o.due, wanted)
}

func keepOnly[T any](entries map[int]T, wanted map[int]bool) {
	maps.DeleteFunc(entries, func(vmid int, _ T) bool { return !wanted[vmid] })
}

// choose returns the vmids to read now: those due, those never read or absent, and the oldest readings, as many as a tick's
// share of the sweep. Those that the list of guests spares have a slower sweep of their own.
func (o *Observer) choose(vmids []int, now time.Time) []int {
	var chosen, rest, spared []int
	for _, v := range vmids {
		switch _, known := o.Seen[v]; {
		case !known || o.due[v]:
			chosen = append(chosen, v)
		case o.List.skipSweep(v):
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
func (o *Observer) share(n int, within time.Duration) int {
	return n * int(o.tick) / int(max(within, o.tick))
}

// oldest returns at least n guests, those with the oldest readings, and all whose reading is not newer than due.
func (o *Observer) oldest(vmids []int, n int, due time.Time) []int {
	slices.SortFunc(vmids, func(a, b int) int { return o.Seen[a].ReadAt.Compare(o.Seen[b].ReadAt) })
	for i, v := range vmids {
		if i >= n && o.Seen[v].ReadAt.After(due) {
			return vmids[:i]
		}
	}
	return vmids
}

// Doubt marks what was read too long ago to be told as news, while the cluster does not answer.
func (o *Observer) Doubt(now time.Time, err error) {
	for vmid, seen := range o.Seen {
		if now.Sub(seen.ReadAt) > 2*max(o.resync, o.tick) {
			o.Absent[vmid], o.trouble[vmid] = cluster.Unknown, err.Error()
			o.due[vmid] = true
		}
	}
}

// Stale reports whether the newest reading of a guest is twice as old as it should ever be.
func (o *Observer) Stale(vmid int, now time.Time) bool {
	seen, known := o.Seen[vmid]
	within := o.resync
	if o.List.skipSweep(vmid) {
		within = o.check
	}
	return known && now.Sub(seen.ReadAt) > 2*max(within, o.tick)
}

// Sighting is what a lane read of its guest last.
type Sighting struct {
	Vmid    int
	Seen    guest.Observed  // the zero value if the guest was not read
	Absence cluster.Absence // "" if the guest was read
	Again   bool            // the guest must be read again: the lane changed it, or failed
}

// Learn takes a lane's reading if it is newer than the observer's own.
func (o *Observer) Learn(s Sighting) {
	switch {
	case s.Absence != "":
		o.lose(s.Vmid, s.Absence)
	case s.Seen.VMID != 0 && !s.Seen.ReadAt.Before(o.Seen[s.Vmid].ReadAt):
		o.Seen[s.Vmid] = s.Seen
		delete(o.Absent, s.Vmid)
		delete(o.trouble, s.Vmid)
	}
	if s.Again {
		o.due[s.Vmid] = true
	}
}

// lose takes that a guest is not there, or not to be seen.
func (o *Observer) lose(vmid int, absence cluster.Absence) {
	delete(o.Seen, vmid)
	o.Absent[vmid] = absence
	o.List.forget(vmid)
}

// DueAll makes every guest due for a full read.
func (o *Observer) DueAll() {
	for v := range o.Seen {
		o.due[v] = true
	}
}

// DueChanged makes every guest due of which another revision wants something else.
func (o *Observer) DueChanged(before, after []guest.Desired) {
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

// ObservingDoubts is what observing had to do without. An empty one is nothing.
type ObservingDoubts struct{ List, Ha string }

func (o *Observer) Doubts() ObservingDoubts {
	d := ObservingDoubts{Ha: o.HaTrouble}
	if o.List != nil {
		d.List = o.List.trouble
	}
	return d
}

// Snapshot returns everything that was seen.
func (o *Observer) Snapshot() cluster.Snapshot {
	return cluster.Snapshot{Inventory: o.Inventory, Guests: o.Seen, Absent: o.Absent, Trouble: o.trouble}
}
