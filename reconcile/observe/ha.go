package observe

import (
	"context"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// readHA notes what the HA manager does with guests whose manifests name it, in one call for all of them and in none where there are
// none. While it cannot be read, the last that was known of each stands.
func (o *Observer) readHA(ctx context.Context, vmids []int) {
	o.HaTrouble = ""
	if len(vmids) == 0 {
		return
	}
	resources, err := o.reader.HA(ctx)
	if err != nil {
		o.HaTrouble = err.Error()
	}
	for _, vmid := range vmids {
		seen, known := o.Seen[vmid]
		switch {
		case !known:
		case err != nil:
			o.Seen[vmid] = withoutHA(seen)
		default:
			o.Seen[vmid] = withHA(seen, resources)
		}
	}
}

// withHA returns the guest with its entry at the HA manager, whose own list is newer than the inventory.
func withHA(seen guest.Observed, resources map[int]guest.HA) guest.Observed {
	seen.HA, seen.Resource = false, nil
	if resource, there := resources[seen.VMID]; there {
		seen.HA, seen.Resource = true, &resource
	}
	return seen
}

// withoutHA returns the guest as it is while the HA manager's list cannot be read: with the entry that it had, or else as one that has
// an entry which nobody knows. That is never one without an entry.
func withoutHA(seen guest.Observed) guest.Observed {
	seen.HA = true
	return seen
}

// UnderHA returns the vmids of guests whose manifests say what the HA manager does with them.
func UnderHA(guests []guest.Desired) []int {
	var vmids []int
	for i := range guests {
		if guests[i].HA != nil && guests[i].VMID != 0 {
			vmids = append(vmids, guests[i].VMID)
		}
	}
	return vmids
}

// WithHAFor returns one guest with its entry at the HA manager, which is asked only where its manifest names it.
func WithHAFor(ctx context.Context, reader cluster.Reader, guests []guest.Desired, seen guest.Observed) guest.Observed {
	if !slices.Contains(UnderHA(guests), seen.VMID) {
		return seen
	}
	resources, err := reader.HA(ctx)
	if err != nil {
		return withoutHA(seen)
	}
	return withHA(seen, resources)
}
