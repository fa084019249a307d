package plan

import (
	"fmt"
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
)

// AssignedLabels returns the vmids of the guests whose manifests name none, by label. A label without an assigned vmid keeps the guest that is
// owned under it: the line `vmid` may have been removed, or the record of the assignment was lost, and a new guest of that label would be a
// second one. If another manifest names the vmid of that guest, the guest was renamed and belongs to the other manifest. A label under which
// several guests are owned gets none of them.
func AssignedLabels(set manifest.Set, state journal.State) map[string]int {
	assigned := make(map[string]int, len(state.Assigned))
	taken := make(map[int]bool, len(state.Assigned)+len(set.Guests))
	for label, vmid := range state.Assigned {
		assigned[label.Kind+"/"+label.Name] = vmid
		taken[vmid] = true
	}
	open := make(map[string][]int) // vmids of owned guests, by label, for the labels without a vmid
	for _, g := range set.Guests {
		label := g.Label()
		if _, known := assigned[label]; g.VMID == 0 && !known {
			open[label] = nil
		}
		taken[g.VMID] = true
	}
	if len(open) == 0 {
		return assigned
	}
	for vmid, owned := range state.Owned {
		label := owned.Kind + "/" + owned.Name
		if _, wanted := open[label]; wanted && !taken[vmid] {
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

// WantedGuests returns the guests that a set of manifests describes, with the vmids and the nodes that the journal records.
func WantedGuests(set manifest.Set, state journal.State) ([]guest.Desired, error) {
	guests, err := set.Lower(AssignedLabels(set, state))
	return WithNodes(guests, state.Placed), err
}

// WithNodes returns the guests with the nodes that were chosen for them, by vmid. A choice for another label, or that the manifest does not allow any more,
// has no effect.
func WithNodes(guests []guest.Desired, placed map[int]journal.Placed) []guest.Desired {
	if len(placed) == 0 {
		return guests
	}
	out := slices.Clone(guests)
	for i := range out {
		d := &out[i]
		p, known := placed[d.VMID]
		if known && d.Placement != nil && p.Kind == string(d.Kind) && p.Name == d.Name && d.Placement.Allows(p.Node) {
			d.Node, d.WhyNode = p.Node, p.Reason
		}
	}
	return out
}

// stillNamed returns why an owned guest may still be wanted although no manifest names its vmid: a manifest has its label. It returns "" if no
// manifest has its label. The text is part of the step's digest.
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
