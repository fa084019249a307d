package plan

import (
	"fmt"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
)

// AssignedLabels returns the vmids of the guests whose manifests name none, by label. A label that nothing was assigned to keeps the guest that
// is owned under it: the line `vmid` may have been taken out, or the record of the assignment was lost, and another guest of that label would
// be a second one. A vmid that another manifest pins is that one's, since its guest was renamed. A label that several guests are owned under
// gets none of them.
func AssignedLabels(set manifest.Set, state journal.State) map[string]int {
	assigned := make(map[string]int, len(state.Assigned))
	spoken := make(map[int]bool, len(state.Assigned)+len(set.Guests))
	for label, vmid := range state.Assigned {
		assigned[label.Kind+"/"+label.Name] = vmid
		spoken[vmid] = true
	}
	open := make(map[string][]int) // by label, what is owned under those that have no vmid yet
	for _, g := range set.Guests {
		label := g.Label()
		if _, known := assigned[label]; g.VMID == 0 && !known {
			open[label] = nil
		}
		spoken[g.VMID] = true
	}
	if len(open) == 0 {
		return assigned
	}
	for vmid, owned := range state.Owned {
		label := owned.Kind + "/" + owned.Name
		if _, wanted := open[label]; wanted && !spoken[vmid] {
			open[label] = append(open[label], vmid)
		}
	}
	for label, vmids := range open {
		if len(vmids) == 1 {
			assigned[label] = vmids[0]
		}
	}
	return assigned
}

// WantedGuests returns what a set of manifests wants, with the vmids that the agent remembers.
func WantedGuests(set manifest.Set, state journal.State) ([]guest.Desired, error) {
	return set.Lower(AssignedLabels(set, state))
}

// stillNamed returns why an owned guest that no manifest names by its vmid may be wanted all the same, "" when it is not: a manifest bears its
// label.
func (want Desired) stillNamed(owned journal.Owned) string {
	for _, guests := range [][]guest.Desired{want.Guests, want.Others} {
		for i := range guests {
			switch d := &guests[i]; {
			case d.Name != owned.Name || string(d.Kind) != owned.Kind:
			case d.VMID == 0:
				return fmt.Sprintf("a manifest still names %s, and no vmid", d.Label())
			default:
				return fmt.Sprintf("a manifest still names %s, as vmid %d", d.Label(), d.VMID)
			}
		}
	}
	return ""
}
