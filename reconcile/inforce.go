package reconcile

import (
	"context"
	"time"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// resume makes the revision that the journal names the desired state again, if it still verifies.
func (e *Engine) resume(ctx context.Context, r *intake.Resumption) {
	if r == nil {
		return
	}
	if e.unverified = r.Err; r.Err != nil {
		e.log.WarnContext(ctx, "accepted revision does not verify", "error", r.Err)
		return
	}
	e.accepted = r.Accepted
	e.relower()
	if e.acceptedAt.IsZero() {
		e.resumed = true
		e.acceptedAt, e.firstSeen = time.Now(), time.Now()
	}
	e.log.InfoContext(ctx, "revision resumed", "revision", e.accepted.Revision.String())
}

// take makes the outcome of a poll the engine's own.
func (e *Engine) take(ctx context.Context, t intake.Polled) {
	e.resume(ctx, t.Resumed)
	e.source.Error, e.fetchErr = "", t.Err
	if t.Err != nil {
		if e.source.Error = t.Err.Error(); ctx.Err() == nil {
			e.log.WarnContext(ctx, "poll failed", "error", t.Err)
		}
		return
	}
	e.source.LastSuccess, e.source.Remote = t.At, t.Head.Remote
	if e.source.Head != string(t.Head.Commit) {
		e.source.Head, e.source.HeadSeen = string(t.Head.Commit), t.At
	}
	e.refuse(t.Refusal)
	if t.Accepted != nil {
		e.accepted, e.unverified, e.converged, e.resumed = *t.Accepted, nil, false, false
		e.acceptedAt, e.firstSeen = time.Now(), t.At
		e.relower()
		e.log.InfoContext(ctx, "revision accepted", "revision", e.accepted.Revision.String(), "signer", e.accepted.Revision.Signer().Subject)
		if warnings := e.accepted.Warnings(); len(warnings) > 0 {
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
	guests, err := plan.WantedGuests(e.accepted.Set, e.opts.Journal.State())
	if err != nil {
		e.log.Warn("vmid assigned twice, the guests stay as they were", "error", err) // the intake refuses such a revision
		return
	}
	e.observer.DueChanged(e.guests, guests)
	e.guests, e.policies = guests, gate.NewPolicies(guests)
}

func (e *Engine) refuse(r *report.Refused) {
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
