package order

import (
	"slices"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// WithOverrides returns the guests as they are wanted now: while an order overrides the run state of a guest, no plan starts or stops the guest. It does not
// change its argument.
func WithOverrides(guests []guest.Desired, state journal.State, now time.Time) []guest.Desired {
	changed := false
	for i := range guests {
		o, overridden := state.Overridden[guests[i].VMID]
		if !overridden || !now.Before(o.Until) {
			continue
		}
		if !changed {
			guests, changed = slices.Clone(guests), true
		}
		d := &guests[i]
		d.Override = &guest.Override{Wants: d.State, State: guest.RunState(o.State), Until: o.Until}
		d.State = guest.Ignored
	}
	return guests
}

// EndedOverrides returns the records that end the overrides whose time is over.
func EndedOverrides(state journal.State, now time.Time) []journal.Body {
	var records []journal.Body
	for vmid, o := range state.Overridden {
		if !now.Before(o.Until) {
			records = append(records, journal.Overridden{VMID: vmid})
		}
	}
	return records
}
