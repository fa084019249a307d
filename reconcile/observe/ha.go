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

// keepHA stores the resources of the HA manager for guests whose manifests configure HA: one call for all of them. If the call failed, their resources are
// unknown. What a lane read later than the call began is newer.
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

// readHA reads the resources of the HA manager, and its master if one of the guests is not in the run state that its resource asks for. While the resources cannot be read,
// it does not ask for the master either.
func readHA(ctx context.Context, reader cluster.Reader, vmids []int, inventory cluster.Inventory) arrival {
	resources, err := reader.HA(ctx)
	a := arrival{resources: resources, err: err}
	waits := func(vmid int) bool {
		row, listed := inventory.Row(vmid)
		resource, managed := resources[vmid]
		return listed && managed && resource.WaitsAt(row.Status) && !row.HAFailed() && !slices.Contains(inventory.Offline, row.Node)
	}
	if err != nil {
		a.noMaster = err
	} else if slices.ContainsFunc(vmids, waits) {
		master, err := reader.HAMaster(ctx)
		a.master, a.noMaster = &master, err
	}
	return a
}

// keepMaster stores whether the HA manager acts. Its master is nil if no guest waits for it. If it could not be read, the last one that is known stays: the manager may act.
func (o *Observer) keepMaster(master *cluster.HAMaster, err error, now time.Time) {
	o.haStands, o.haUnread = "", ""
	switch {
	case err != nil:
		o.haUnread = "it is unknown whether the HA manager acts, since its state cannot be read: " + err.Error()
		if o.masterSeenAt.IsZero() {
			o.masterSeenAt = now
		}
		if cluster.HAMasterIsDead(o.masterSeenAt, now) {
			o.haStands = o.haUnread
		}
		return
	case master == nil:
		o.master, o.masterSeenAt = cluster.HAMaster{}, time.Time{}
		return
	case o.masterSeenAt.IsZero() || *master != o.master:
		o.master, o.masterSeenAt = *master, now
	}
	o.haStands = master.Stands(o.masterSeenAt, now)
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

// withUnknownHA returns the guest as it is while the HA manager's list cannot be read: it counts as managed by HA, with an unknown resource.
func withUnknownHA(seen guest.Observed) guest.Observed {
	seen.HA, seen.Resource = true, nil
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
