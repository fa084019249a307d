package reconcile

import (
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// noteDrift compares the guest's sync state with its state in the cycle before, and reports drift that appeared or was repaired.
func (e *Engine) noteDrift(t *track, p plan.Guest, sync report.Sync, now time.Time) {
	revision := e.rollouts.revisionOf(p.Ref.VMID, e.basis.Load().Revision)
	switch {
	case sync == report.SyncUnknown:
		return
	case sync == report.Synced:
		if t.assessed && !t.synced && t.cause != "" {
			e.reportDrift(report.DriftOutcome{Guest: p.Ref, Cause: t.cause, Repaired: true})
		}
		t.driftSince, t.convergedAt, t.revision = time.Time{}, now, revision
	case t.synced || !t.assessed:
		t.driftSince, t.cause = now, e.driftCause(t, revision)
		if t.cause == "" {
			break
		}
		var keys []string
		for _, c := range p.Changes {
			keys = append(keys, c.Key)
		}
		e.reportDrift(report.DriftOutcome{Guest: p.Ref, Cause: t.cause, Keys: keys})
	}
	t.assessed, t.synced = true, sync == report.Synced
}

// driftCause returns whether a new revision or a change in the cluster made the guest differ. It returns "" in the first cycle after a start:
// then it is unknown whether the revision was applied before.
func (e *Engine) driftCause(t *track, revision string) report.DriftCause {
	switch {
	case t.revision == revision:
		return report.DriftCluster
	case !t.assessed && e.force.Resumed:
		return ""
	}
	return report.DriftRevision
}

// reportDrift passes drift that appeared or was repaired to the log, the metrics and the audit history.
func (e *Engine) reportDrift(o report.DriftOutcome) {
	name := "drift-found"
	if o.Repaired {
		name = "drift-repaired"
		e.log.Info("guest in sync again", event.Key, event.GuestRepaired, "vmid", o.Guest.VMID, "guest", o.Guest.Label(), "cause", string(o.Cause))
	} else {
		e.log.Info("guest drifted", event.Key, event.GuestDrifted, "vmid", o.Guest.VMID, "guest", o.Guest.Label(), "cause", string(o.Cause), "keys", o.Keys)
	}
	e.event(journal.Event{Name: name, VMID: o.Guest.VMID, Message: string(o.Cause)})
	e.opts.Hooks.drift(o)
}
