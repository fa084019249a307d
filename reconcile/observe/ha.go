package observe

import (
	"context"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// haResources are the resources of the HA manager, by vmid.
type haResources map[int]guest.HA

// keepHA stores the resources of the HA manager for guests whose manifests configure HA: one call for all of them. If the call failed, the last known
// resource of each guest stays. What a lane read later than the call began is newer.
func (o *Observer) keepHA(vmids []int, resources haResources, began time.Time, err error) {
	o.resources, o.resourcesAsked, o.haTrouble = resources, began, ""
	if err != nil {
		o.haTrouble = err.Error()
	} else if o.resources == nil {
		o.resources = haResources{}
	}
	for _, vmid := range vmids {
		if seen, known := o.seen[vmid]; known && o.underHA[vmid] {
			o.seen[vmid] = o.withKnownHA(seen)
		}
	}
}

// withKnownHA returns the guest with its HA resource as far as the newest answer of the HA manager shows it.
func (o *Observer) withKnownHA(seen guest.Observed) guest.Observed {
	switch {
	case o.laneHA[seen.VMID].After(o.resourcesAsked):
		seen.HA, seen.Resource = o.seen[seen.VMID].HA, o.seen[seen.VMID].Resource
		return seen
	case o.haTrouble != "":
		return withUnknownHA(seen)
	case o.resources != nil:
		return withHA(seen, o.resources)
	}
	return seen
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
