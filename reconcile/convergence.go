package reconcile

import (
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// noteConvergence notes whether all guests are in sync under the newest revision, and reports convergence once per revision.
func (e *Engine) noteConvergence(assessed []*track, state journal.State, now time.Time) {
	e.convergence.now = e.converged(assessed, state)
	if !e.convergence.now || !e.convergence.since.IsZero() {
		return
	}
	e.convergence.since = now
	if e.force.Resumed {
		return // an earlier run reported it, or its duration is unknown
	}
	rev := e.force.Accepted.Revision()
	e.opts.Hooks.converged(report.ConvergedOutcome{
		Revision: rev.String(), Total: now.Sub(e.force.Seen), SinceProof: now.Sub(rev.ProvenTime()),
		Verify: e.force.Since.Sub(e.force.Seen), Apply: now.Sub(e.force.Since),
	})
	e.log.Info("revision converged", event.Key, event.RevisionConverged, "revision", rev.String(), "duration", now.Sub(e.force.Seen))
}

// converged reports whether the newest revision is in force, nothing is in flight and every guest is in sync.
func (e *Engine) converged(assessed []*track, state journal.State) bool {
	if !e.force.Accepted.Valid() || e.source.Refused != nil || e.source.Error != "" || !e.proxmox.Ready || len(state.Open) > 0 || e.queue.Depth() > 0 {
		return false
	}
	for _, t := range assessed {
		if t.now.sync != report.Synced {
			return false
		}
	}
	return true
}
