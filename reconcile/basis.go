package reconcile

import (
	"maps"
	"time"

	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// setBasis gives the lanes the present state to work from. A change of the permission to write begins a new epoch.
func (e *Engine) setBasis(waits func(plan.Step) plan.Wait) {
	e.resolveGuards(time.Now())
	e.withholdChanged()
	observed := e.readings.observer.Snapshot()
	b := &lane.Basis{
		Cluster: e.opts.Scope.Cluster, Inventory: observed.Inventory, Seen: maps.Clone(observed.Guests), SeenObjects: maps.Clone(observed.Objects), Waits: waits, Hanging: e.worker.HangingTasks,
		Limits: e.revision.force.Limits, Separate: e.opts.Separate, OwnGuests: e.ownGuests,
	}
	if accepted := e.revision.force.Accepted; accepted.Valid() {
		b.Images, b.AllowedServer = accepted.Set().Images, e.opts.AllowedServer
		b.Objects = accepted.Set().Objects
		b.Revision, b.Guests, b.Policies, b.Rules = accepted.Revision().String(), e.guests, e.policies, e.rules
		b.Guards, b.Minimum, b.Weakenings = e.guards.now.Guards, e.opts.Minimum, e.guards.now.Weakenings
		b.VMIDs, b.Unplaced = accepted.Set().Cluster.VMIDs, e.unplaced
		b.Withheld, b.Former = e.rollouts.withheld, e.rollouts.former
	}
	b.NoWrites, b.Why = e.lease.Plan(&e.revision, &e.readings)
	if (b.NoWrites == reason.WritesAllowed) != (e.basis.Load().NoWrites == reason.WritesAllowed) {
		e.revision.epoch = e.revision.epochs.AdvanceFrom(e.revision.epoch)
	}
	b.Epoch = e.revision.epoch
	e.basis.Store(b)
}
