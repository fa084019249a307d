package observe

import (
	"context"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// readHA reads the resources of the HA manager for guests whose manifests configure HA: one call for all of them, none if there are none.
// If the call fails, the last known resource of each guest stays.
func (o *Observer) readHA(ctx context.Context, vmids []int) {
	o.haTrouble = ""
	if len(vmids) == 0 {
		return
	}
	resources, err := o.reader.HA(ctx)
	if err != nil {
		o.haTrouble = err.Error()
	}
	for _, vmid := range vmids {
		seen, known := o.seen[vmid]
		switch {
		case !known:
		case err != nil:
			o.seen[vmid] = withUnknownHA(seen)
		default:
			o.seen[vmid] = withHA(seen, resources)
		}
	}
}

// withHA returns the guest with its HA resource. The HA manager's list is newer than the inventory.
func withHA(seen guest.Observed, resources map[int]guest.HA) guest.Observed {
	seen.HA, seen.Resource = false, nil
	if resource, there := resources[seen.VMID]; there {
		seen.HA, seen.Resource = true, &resource
	}
	return seen
}

// withUnknownHA returns the guest as it is while the HA manager's list cannot be read: it counts as managed by HA, with its last known
// resource or with an unknown one.
func withUnknownHA(seen guest.Observed) guest.Observed {
	seen.HA = true
	return seen
}

// UnderHA returns the vmids of guests whose manifests configure HA.
func UnderHA(guests []guest.Desired) []int {
	var vmids []int
	for i := range guests {
		if guests[i].HA != nil && guests[i].VMID != 0 {
			vmids = append(vmids, guests[i].VMID)
		}
	}
	return vmids
}

// WithHAFor returns one guest with its HA resource. It asks the HA manager only if the guest's manifest configures HA.
func WithHAFor(ctx context.Context, reader cluster.Reader, guests []guest.Desired, seen guest.Observed) guest.Observed {
	if !slices.Contains(UnderHA(guests), seen.VMID) {
		return seen
	}
	resources, err := reader.HA(ctx)
	if err != nil {
		return withUnknownHA(seen)
	}
	return withHA(seen, resources)
}
