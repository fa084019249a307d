package reconcile

import (
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/slots"
)

// followed are the readings whose slots the journal is known to record. As long as manifests and journal stay the same, a reading is compared once.
type followed struct {
	guests   []guest.Desired
	owned    map[int]journal.Owned
	attached map[int]journal.Attached
	readings map[int]reading
}

// A reading tells one reading of a guest from another.
type reading struct {
	at     time.Time
	digest string
}

func readingOf(live guest.Observed) reading { return reading{live.ReadAt, live.Digest} }

// with forgets all readings if they were compared with other manifests or another journal.
func (f *followed) with(guests []guest.Desired, state journal.State) {
	if f.readings == nil || !sameSlice(f.guests, guests) || !sameMap(f.owned, state.Owned) || !sameMap(f.attached, state.Attached) {
		*f = followed{guests, state.Owned, state.Attached, make(map[int]reading, len(guests))}
	}
}

// slotChanges returns the records of the guests whose newest reading shows another volume in a slot than the journal, and the first records of
// guests that have none because an older release owned them.
func (e *Engine) slotChanges(look rest) []journal.Body {
	var records []journal.Body
	state, snapshot := look.state, look.read
	e.followed.with(e.guests, state)
	for i := range e.guests {
		d := &e.guests[i]
		live, seen := snapshot.Guests[d.VMID]
		now := readingOf(live)
		if !seen || snapshot.Absent[d.VMID] != "" || e.followed.readings[d.VMID] == now {
			continue
		}
		owned, isOwned := state.Owned[d.VMID]
		if !isOwned {
			continue
		}
		record, recorded := slots.Of(state.Attached, owned)
		changed := !recorded
		if recorded {
			record, changed = slots.Follow(record, d, live)
		} else {
			record = slots.Unrecorded(owned, d, live)
		}
		switch {
		case !changed:
			e.followed.readings[d.VMID] = now
		case followsSlots(look, owned, d, live):
			records = append(records, record)
		}
	}
	return records
}

// followsSlots reports whether a reading tells what the slots of the owned guest hold: it is this guest, and nothing changes it now.
func followsSlots(look rest, owned journal.Owned, d *guest.Desired, live guest.Observed) bool {
	proven := live.Kind == d.Kind && !cluster.PartlyCreated(live) && ownership.Compare(owned, live).Conflict(live.Kind) == ""
	return proven && look.has(keyOf(d.Ref))
}
