package reconcile

import (
	"maps"
	"time"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/writer"
)

// setBasis gives the lanes the present state to work from. A change of the permission to write begins a new epoch.
func (e *Engine) setBasis(waits func(plan.Step) plan.Wait) {
	e.resolveGuards(time.Now())
	b := &lane.Basis{Cluster: e.opts.Scope.Cluster, Inventory: e.observer.Snapshot().Inventory, Waits: waits, Hanging: e.worker.HangingTasks, Limits: e.force.Limits, Separate: e.opts.Separate, OwnGuests: e.ownGuests}
	if accepted := e.force.Accepted; accepted.Valid() {
		b.Revision, b.Guests, b.Policies = accepted.Revision().String(), e.guests, e.policies
		b.Guards, b.Minimum, b.Weakenings = e.guards.now.Guards, e.opts.Minimum, e.guards.now.Weakenings
		b.VMIDs = accepted.Set().Cluster.VMIDs
	}
	if observed := e.observer.Snapshot(); len(plan.AffectedVolumes(b.Desired(e.opts.Journal.State()), observed)) > 0 {
		b.Seen = maps.Clone(observed.Guests)
	}
	b.NoWrites, b.Why = e.writeStop()
	if (b.NoWrites == gate.WritesAllowed) != (e.basis.Load().NoWrites == gate.WritesAllowed) {
		e.epoch = e.epochs.AdvanceFrom(e.epoch)
	}
	b.Epoch = e.epoch
	e.basis.Store(b)
}

// writeStop returns why nothing may be written to the cluster now.
func (e *Engine) writeStop() (gate.WriteStop, string) {
	switch err := e.opts.Journal.Healthy(); {
	case e.closing:
		return gate.StopClosing, "the agent is stopping"
	case e.gone != nil:
		return gate.StopStateDirectory, e.gone.Error() + "; " + stateDirectoryHint
	case err != nil:
		return gate.StopJournal, err.Error()
	case e.writerState.Standing == writer.Superseded:
		return gate.StopSuperseded, supersededReason(e.writerState)
	case e.force.Unverified != nil:
		return gate.StopUnverified, e.force.Unverified.Error()
	case !e.force.Accepted.Valid():
		return gate.StopNoRevision, "no revision was accepted yet"
	case e.opts.DryRun:
		return gate.StopDryRun, "started with --dry-run"
	case e.isPaused:
		return gate.StopPaused, e.paused.String()
	case !e.proxmox.Ready:
		return gate.StopNotReady, e.proxmox.Error
	case e.claimErr != nil:
		return gate.StopUnclaimed, e.claimErr.Error()
	}
	return gate.WritesAllowed, ""
}
