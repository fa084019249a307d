package rollout

import (
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// Held returns the guests as they are enforced now: a guest that is not released is wanted as its last released revision wants it, if that is known. It
// does not change its argument. Former is what is known of these revisions, by vmid. OwnFirewall reports whether the former guarded firewall of a guest satisfies the
// one in effect.
func Held(guests []guest.Desired, former map[int]guest.Desired, staged map[int]journal.Staged, ownFirewall func(now, former *guest.Desired) bool) []guest.Desired {
	changed := false
	for i := range guests {
		held, known := former[guests[i].VMID]
		if !known || !staged[guests[i].VMID].Withheld() || held.Kind != guests[i].Kind {
			continue
		}
		if !changed {
			guests, changed = slices.Clone(guests), true
		}
		guests[i] = guests[i].HeldTo(held, ownFirewall(&guests[i], &held))
	}
	return guests
}
