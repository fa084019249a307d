package reconcile

import (
	"errors"
	"maps"
	"time"

	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/writer"
)

// setBasis gives the lanes the present state to work from. A change of the permission to write begins a new epoch.
func (e *Engine) setBasis(waits func(plan.Step) plan.Wait) {
	e.resolveGuards(time.Now())
	e.withholdChanged()
	observed := e.observer.Snapshot()
	b := &lane.Basis{
		Cluster: e.opts.Scope.Cluster, Inventory: observed.Inventory, Seen: maps.Clone(observed.Guests), SeenObjects: maps.Clone(observed.Objects), Waits: waits, Hanging: e.worker.HangingTasks,
		Limits: e.force.Limits, Separate: e.opts.Separate, OwnGuests: e.ownGuests,
	}
	if accepted := e.force.Accepted; accepted.Valid() {
		b.Images, b.AllowedServer = accepted.Set().Images, e.opts.AllowedServer
		b.Objects = accepted.Set().Objects
		b.Revision, b.Guests, b.Policies, b.Rules = accepted.Revision().String(), e.guests, e.policies, e.rules
		b.Guards, b.Minimum, b.Weakenings = e.guards.now.Guards, e.opts.Minimum, e.guards.now.Weakenings
		b.VMIDs, b.Unplaced = accepted.Set().Cluster.VMIDs, e.unplaced
		b.Withheld, b.Former = e.rollouts.withheld, e.rollouts.former
	}
	b.NoWrites, b.Why = e.writeStop()
	if (b.NoWrites == reason.WritesAllowed) != (e.basis.Load().NoWrites == reason.WritesAllowed) {
		e.epoch = e.epochs.AdvanceFrom(e.epoch)
	}
	b.Epoch = e.epoch
	e.basis.Store(b)
}

// writeStop returns why nothing may be written to the cluster now. An agent that follows another one reports what would keep it from writing as the leader, and
// that it is a standby only if it could take over.
func (e *Engine) writeStop() (reason.Stop, string) {
	switch err := e.opts.Journal.Healthy(); {
	case e.closing:
		return reason.StopClosing, "the agent is stopping"
	case e.gone != nil:
		return reason.StopStateDirectory, e.gone.Error() + "; " + reason.RestoreStateDirectory.Text
	case err != nil:
		return reason.StopJournal, err.Error()
	case e.writerState.Standing == writer.Superseded && e.opts.Standby == "":
		return reason.StopSuperseded, supersededReason(e.writerState)
	case e.unchecked() != nil:
		return e.uncheckedStop(e.unchecked())
	case e.force.Unverified != nil:
		return reason.StopUnverified, e.force.Unverified.Error()
	case !e.force.Accepted.Valid():
		return reason.StopNoRevision, "no revision was accepted yet"
	case e.opts.DryRun && e.opts.Standby == "":
		return reason.StopDryRun, "started with --dry-run"
	case e.isPaused:
		return reason.StopPaused, e.paused.String()
	case !e.proxmox.Ready:
		return reason.StopNotReady, e.proxmox.Error
	case e.opts.Standby != "":
		return reason.StopStandby, e.opts.Standby
	case e.claimErr != nil:
		return reason.StopUnclaimed, e.claimErr.Error()
	}
	return reason.WritesAllowed, ""
}

// unchecked returns why it is unknown which revision is in force: the floor of accepted revisions, or the policy, could not be read yet. Nil means that it
// is known, or that none was ever accepted.
func (e *Engine) unchecked() error {
	switch {
	case e.resuming && e.opts.Journal.State().Accepted != nil:
		return errResuming
	case intake.IsUnchecked(e.force.Unverified):
		return e.force.Unverified
	case !e.force.Accepted.Valid():
		return e.unread
	}
	return nil
}

var errResuming = errors.New("the accepted revision is being verified again after the start")

// uncheckedStop returns the reason not to write that fits an error of unchecked. While the cluster does not answer, that is the reason: the floor is read
// from it.
func (e *Engine) uncheckedStop(err error) (reason.Stop, string) {
	var policy *intake.PolicyError
	switch cause := e.clusterErr(); {
	case errors.As(err, &policy):
		return reason.StopPolicy, err.Error()
	case cause != nil:
		return reason.StopNotReady, cause.Error()
	}
	return reason.StopUnchecked, err.Error()
}
