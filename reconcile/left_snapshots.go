package reconcile

import (
	"context"
	"maps"
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/report"
)

// followLeftSnapshots forgets those snapshots of schedules that manifests do not have any more which people have deleted or changed. It reads them beside the engine, of a guest whose
// configuration has changed since: Proxmox keeps them in the same file, so that its digest covers them.
func (e *Engine) followLeftSnapshots(ctx context.Context) {
	if e.snapshots.scheduled == nil || !e.lease.mayWrite(e.revision.force) { // before the first plan, it is not known which schedules there are
		return
	}
	look := e.atRest()
	var due []guest.Observed
	for _, vmid := range slices.Sorted(maps.Keys(look.state.Snapshots)) {
		live, seen := look.read.Guests[vmid]
		if seen && look.has(object.Guest(vmid)) && e.leftSnapshots(look.state, vmid) && e.snapshots.looked[vmid] != live.Digest && len(due) < bootReads {
			due = append(due, live)
		}
	}
	if len(due) == 0 {
		return
	}
	e.errands.run(report.ComponentSnapshots, func() func() {
		found := make(map[int]guest.Snapshots)
		for _, live := range due {
			if seen, err := observe.WithSnapshots(ctx, e.opts.Cluster, live); err == nil { // otherwise it stays due
				found[live.VMID] = *seen.Snapshots
			}
		}
		return func() { e.forgetSnapshots(ctx, found) }
	})
}

// leftSnapshots reports whether the agent has taken snapshots of a guest by a schedule that its manifest does not have any more.
func (e *Engine) leftSnapshots(state journal.State, vmid int) bool {
	return e.snapshots.scheduled[vmid] == nil && len(order.SnapshotsOf(state, vmid).Taken) > 0
}

// forgetSnapshots journals which snapshots of ended schedules are left, by a reading of each guest.
func (e *Engine) forgetSnapshots(ctx context.Context, found map[int]guest.Snapshots) {
	look := e.atRest()
	var records []journal.Body
	for vmid, live := range found {
		if !look.has(object.Guest(vmid)) || !e.leftSnapshots(look.state, vmid) {
			continue
		}
		e.snapshots.looked[vmid] = live.Digest
		before := order.SnapshotsOf(look.state, vmid)
		if left := order.LeftSnapshots(before, live); len(left.Taken) < len(before.Taken) {
			records = append(records, left)
		}
	}
	if len(records) == 0 || !e.lease.mayWrite(e.revision.force) {
		return
	}
	if err := e.opts.Journal.Append(ctx, records...); err != nil {
		e.log.WarnContext(ctx, "journal not written", "error", err)
	}
}
