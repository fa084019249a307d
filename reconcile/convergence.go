package reconcile

import (
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// noteConvergence notes whether all guests are in sync, and whether the revision in force is the newest one. It reports convergence once per revision, also
// if a newer head is refused or the remote does not answer.
func (e *Engine) noteConvergence(assessed []*track, state journal.State, now time.Time) {
	e.revision.convergence.inSync = e.inSync(assessed, state)
	e.revision.convergence.now = e.revision.convergence.inSync && e.revision.source.Refused == nil && e.revision.source.Waiting == nil && e.revision.source.Error == "" && e.revision.unread == nil && e.readings.proxmox.Ready
	if !e.revision.convergence.inSync || !e.readings.proxmox.Ready || !e.revision.convergence.since.IsZero() {
		return
	}
	e.revision.convergence.since = now
	if e.revision.force.Resumed {
		return // an earlier run reported it, or its duration is unknown
	}
	rev := e.revision.force.Accepted.Revision()
	e.events.Happened(event.RevisionConverged, event.Details{
		Fields: []any{"revision", rev.String(), "duration", now.Sub(e.revision.force.Seen)},
		Outcome: report.ConvergedOutcome{
			Revision: rev.String(), Total: now.Sub(e.revision.force.Seen), SinceProof: now.Sub(rev.ProvenTime()),
			Verify: e.revision.force.Since.Sub(e.revision.force.Seen), Apply: now.Sub(e.revision.force.Since),
		},
		Note: event.Note{Revision: rev.String()},
	})
}

// inSync reports whether nothing is in flight and every guest matches the revision in force, also if there is a newer one.
func (e *Engine) inSync(assessed []*track, state journal.State) bool {
	if !e.revision.force.Accepted.Valid() || len(state.Open) > 0 || e.queue.Depth() > 0 || len(e.rollouts.withheld) > 0 {
		return false // guests that a rollout holds do not have the revision in force
	}
	for _, t := range assessed {
		if t.now.sync != report.Synced {
			return false
		}
	}
	return true
}
