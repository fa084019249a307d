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
	e.convergence.inSync = e.inSync(assessed, state)
	e.convergence.now = e.convergence.inSync && e.source.Refused == nil && e.source.Waiting == nil && e.source.Error == "" && e.unread == nil && e.proxmox.Ready
	if !e.convergence.inSync || !e.proxmox.Ready || !e.convergence.since.IsZero() {
		return
	}
	e.convergence.since = now
	if e.force.Resumed {
		return // an earlier run reported it, or its duration is unknown
	}
	rev := e.force.Accepted.Revision()
	e.events.Happened(event.RevisionConverged, event.Details{
		Fields: []any{"revision", rev.String(), "duration", now.Sub(e.force.Seen)},
		Outcome: report.ConvergedOutcome{
			Revision: rev.String(), Total: now.Sub(e.force.Seen), SinceProof: now.Sub(rev.ProvenTime()),
			Verify: e.force.Since.Sub(e.force.Seen), Apply: now.Sub(e.force.Since),
		},
		Note: event.Note{Revision: rev.String()},
	})
}

// inSync reports whether nothing is in flight and every guest matches the revision in force, also if there is a newer one.
func (e *Engine) inSync(assessed []*track, state journal.State) bool {
	if !e.force.Accepted.Valid() || len(state.Open) > 0 || e.queue.Depth() > 0 || len(e.rollouts.withheld) > 0 {
		return false // guests that a rollout holds do not have the revision in force
	}
	for _, t := range assessed {
		if t.now.sync != report.Synced {
			return false
		}
	}
	return true
}
