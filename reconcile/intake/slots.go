package intake

import (
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/slots"
)

// earlierSlots returns first records for owned guests to which a revision adds a slot, and which have no record yet: an older release owned them,
// and they were not read since. The slots of the revision before have an unknown history, and the added slots are known to be new.
func earlierSlots(before, accepted Accepted, state journal.State) []journal.Body {
	if !before.Valid() {
		return nil
	}
	earlier := make(map[int]*guest.Desired, len(before.guests))
	for i := range before.guests {
		earlier[before.guests[i].VMID] = &before.guests[i]
	}
	var bodies []journal.Body
	for i := range accepted.guests {
		d := &accepted.guests[i]
		old, named := earlier[d.VMID]
		owned, isOwned := state.Owned[d.VMID]
		if _, recorded := slots.Of(state.Attached, owned); recorded || !named || !isOwned {
			continue
		}
		known := guest.DataSlots(old)
		if slices.ContainsFunc(guest.DataSlots(d), func(slot string) bool { return !slices.Contains(known, slot) }) {
			bodies = append(bodies, slots.Before(owned, old))
		}
	}
	return bodies
}

// doubtedSlots returns the records of guests that a state directory has which is older than the cluster: a slot that was filled since may be
// missing in them, so its history is unknown.
func doubtedSlots(accepted Accepted, state journal.State) []journal.Body {
	var bodies []journal.Body
	for i := range accepted.guests {
		d := &accepted.guests[i]
		record, recorded := slots.Of(state.Attached, state.Owned[d.VMID])
		if !recorded {
			continue
		}
		if doubted, changed := slots.Doubted(record, d); changed {
			bodies = append(bodies, doubted)
		}
	}
	return bodies
}
