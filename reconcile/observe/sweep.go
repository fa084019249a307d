package observe

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// markChanged makes guests due whose inventory row changed or differs from the last reading. The row only triggers the reading.
func (o *Observer) markChanged(next cluster.Inventory) {
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

// markListed makes guests due whose entry in the vmlist file changed.
func (o *Observer) markListed(vmids []int) {
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

// markWithoutSnapshots makes guests due whose snapshots an order needs and whose newest reading does not have them.
func (o *Observer) markWithoutSnapshots(needed map[int]bool) {
	for vmid := range needed {
		if seen, known := o.seen[vmid]; known && seen.Snapshots == nil {
			o.due[vmid] = true
		}
	}
}

// DueAll makes every guest due.
func (o *Observer) DueAll() {
	for v := range o.seen {
		o.due[v] = true
	}
}

// DueChanged makes guests due whose desired state differs between two revisions. It returns their vmids.
func (o *Observer) DueChanged(before, after []guest.Desired) (changed []int) {
	wanted := make(map[int]*guest.Desired, len(before))
	for i := range before {
		wanted[before[i].VMID] = &before[i]
	}
	for i := range after {
		if d := &after[i]; wanted[d.VMID] == nil || !reflect.DeepEqual(*wanted[d.VMID], *d) {
			changed = append(changed, d.VMID)
		}
		delete(wanted, after[i].VMID)
	}
	changed = slices.AppendSeq(changed, maps.Keys(wanted))
	for _, vmid := range changed {
		o.due[vmid] = true
	}
	return changed
}

// choose returns the guests to read now: those that are due or were never read, and the oldest readings up to the share of the sweep since the
// last call, so that a call outside the ticks, such as after a push, adds no readings. Guests that did not change according to the vmlist file
// have a slower sweep of their own.
func (o *Observer) choose(vmids []int, now time.Time) []int {
	var chosen, swept, skipped []int
	for _, v := range vmids {
		switch _, known := o.seen[v]; {
		case !known || o.due[v]:
			chosen = append(chosen, v)
		case o.list.skipSweep(v):
			skipped = append(skipped, v)
		default:
			swept = append(swept, v)
		}
	}
	since := o.tick
	if !o.chosen.IsZero() {
		since = min(o.tick, now.Sub(o.chosen))
	}
	o.chosen = now
	share := 1 + o.share(len(vmids)-len(skipped), since, o.resync)
	chosen = append(chosen, o.oldest(swept, share, now.Add(-o.resync))...)
	return append(chosen, o.oldest(skipped, o.share(len(skipped), since, o.check), now.Add(-o.check))...)
}

// share returns how many of n guests to read for a part of the time within which all are read.
func (o *Observer) share(n int, part, within time.Duration) int {
	return n * int(part) / int(max(within, o.tick))
}

// oldest returns at least n guests, those with the oldest readings, and all guests whose reading is not newer than due.
func (o *Observer) oldest(vmids []int, n int, due time.Time) []int {
	slices.SortFunc(vmids, func(a, b int) int { return o.seen[a].ReadAt.Compare(o.seen[b].ReadAt) })
	for i, v := range vmids {
		if i >= n && o.seen[v].ReadAt.After(due) {
			return vmids[:i]
		}
	}
	return vmids
}

// Stale reports whether the newest reading of a guest is more than twice as old as the sweep allows.
func (o *Observer) Stale(vmid int, now time.Time) bool {
	seen, known := o.seen[vmid]
	within := o.resync
	if o.list.skipSweep(vmid) {
		within = o.check
	}
	return known && now.Sub(seen.ReadAt) > 2*max(within, o.tick)
}
