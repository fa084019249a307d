package reconcile

import (
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/slots"
)

// slotChanges returns the records of the guests whose newest reading shows another volume in a slot than the journal, and the first records of
// guests that have none because an older release owned them.
func (e *Engine) slotChanges(state journal.State) []journal.Body {
	var records []journal.Body
	snapshot := e.observer.Snapshot()
	for i := range e.guests {
		d := &e.guests[i]
		owned, isOwned := state.Owned[d.VMID]
		live, seen := snapshot.Guests[d.VMID]
		if !isOwned || !seen || snapshot.Absent[d.VMID] != "" {
			continue
		}
		record, recorded := slots.Of(state.Attached, owned)
		changed := !recorded
		if recorded {
			record, changed = slots.Follow(record, d, live)
		} else {
			record = slots.Unrecorded(owned, d, live)
		}
		if changed && e.followsSlots(state, owned, d, live) {
			records = append(records, record)
		}
	}
	return records
}

// followsSlots reports whether a reading tells what the slots of the owned guest hold: it is this guest, and nothing changes it now.
func (e *Engine) followsSlots(state journal.State, owned journal.Owned, d *guest.Desired, live guest.Observed) bool {
	proven := live.Kind == d.Kind && !cluster.PartlyCreated(live) && ownership.Compare(owned, live).Conflict(live.Kind) == ""
	return proven && !e.queue.Busy(d.VMID) && !isOpen(state, d.VMID)
}
