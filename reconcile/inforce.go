package reconcile

import (
	"context"
	"time"

	"gitops-agent/reconcile/journal"
)

// resume makes the revision that the journal names the desired state again, if it still verifies.
func (e *Engine) resume(ctx context.Context, r *resumption) {
	if r == nil {
		return
	}
	if e.unverified = r.err; r.err != nil {
		e.log.WarnContext(ctx, "accepted revision does not verify", "error", r.err)
		return
	}
	e.accepted = r.accepted
	e.relower()
	if e.acceptedAt.IsZero() {
		e.resumed = true
		e.acceptedAt, e.firstSeen = time.Now(), time.Now()
	}
	e.log.InfoContext(ctx, "revision resumed", "revision", e.accepted.revision.String())
}

// take makes the outcome of a poll the engine's own.
func (e *Engine) take(ctx context.Context, t taken) {
	e.resume(ctx, t.resumed)
	e.source.Error, e.fetchErr = "", t.err
	if t.err != nil {
		if e.source.Error = t.err.Error(); ctx.Err() == nil {
			e.log.WarnContext(ctx, "poll failed", "error", t.err)
		}
		return
	}
	e.source.LastSuccess, e.source.Remote = t.at, t.head.Remote
	if e.source.Head != string(t.head.Commit) {
		e.source.Head, e.source.HeadSeen = string(t.head.Commit), t.at
	}
	e.refuse(t.refusal)
	if t.accepted != nil {
		e.accepted, e.unverified, e.converged, e.resumed = *t.accepted, nil, false, false
		e.acceptedAt, e.firstSeen = time.Now(), t.at
		e.relower()
		e.log.InfoContext(ctx, "revision accepted", "revision", e.accepted.revision.String(), "signer", e.accepted.revision.Signer().Subject)
		if warnings := e.accepted.warnings(); len(warnings) > 0 {
			e.log.WarnContext(ctx, "manifests have warnings", "warnings", warnings)
		}
		clearFailures(e.tracks)
	}
}

// relower compiles the accepted manifests again, after a new revision or a vmid was assigned or given back.
func (e *Engine) relower() {
	if !e.accepted.Valid() {
		return
	}
	guests, err := WantedGuests(e.accepted.set, e.opts.Journal.State())
	if err != nil {
		e.log.Warn("vmid assigned twice, the guests stay as they were", "error", err) // the intake refuses such a revision
		return
	}
	e.observer.dueChanged(e.guests, guests)
	e.guests, e.policies = guests, newPolicies(guests)
}

func (e *Engine) refuse(r *RefusedReport) {
	if r == nil {
		e.source.Refused = nil
		return
	}
	if old := e.source.Refused; old != nil && old.Commit == r.Commit && old.Reason == r.Reason {
		r.Since = old.Since
	} else {
		e.log.Warn("revision refused", "commit", r.Commit, "reason", r.Reason, "error", r.Error)
		e.event(journal.Event{Name: "revision-refused", Revision: r.Commit, Message: r.Reason})
		e.opts.Hooks.refused(*r)
	}
	e.source.Refused = r
}
