package reconcile

import (
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// whyUnmatched says what is known of an approval that matches no step.
const whyUnmatched = "no held step has this digest: the step was carried out, changed or withdrawn, or the digest is not that of a step of this cluster"

// noteUnmatched states which approvals match no step. A step can still come for which one counts, within seven days of its signature.
func (e *Engine) noteUnmatched(assessed []*track, state journal.State) {
	known := e.approvable(assessed)
	for _, open := range state.Open {
		for _, key := range lane.ApprovalsOf(open.Begun) {
			if digest, is := gate.ApprovedDigest(state.Orders[key].Order); is {
				known.digests[digest] = true
			}
		}
	}
	e.orders.unmatched = nil
	for key, o := range state.Orders {
		digest, isApproval := gate.ApprovedDigest(o.Order)
		if !isApproval || o.State != journal.OrderSeen || known.digests[digest] {
			continue
		}
		if !known.complete {
			e.said.Keep(event.OrderUnmatched, key)
			continue
		}
		if e.orders.unmatched == nil {
			e.orders.unmatched = make(map[string]bool)
		}
		e.orders.unmatched[key] = true
		e.said.Lasts(event.OrderUnmatched, event.ID{key}, func() event.Details {
			return event.Details{Fields: []any{"order", o.Order, "signer", o.Subject, "commit", o.Commit, "why", whyUnmatched}}
		})
	}
	e.said.Rest(event.OrderUnmatched, nil)
}

// approvable are the digests for which an approval counts now, and whether these are all.
type approvable struct {
	digests  map[string]bool
	complete bool
}

// approvable returns the digests of the steps that are held, or released by approvals. They are not all while a guest is not read, while nothing is written, or
// while a step waits for something before its approvals are looked at.
func (e *Engine) approvable(assessed []*track) approvable {
	known := approvable{digests: map[string]bool{"": true, e.recovery.Digest: true}, complete: e.revision.force.Accepted.Valid() && e.basis.Load().NoWrites == reason.WritesAllowed}
	note := func(h report.HeldStep) {
		known.digests[h.Digest] = true
		if h.Digest == "" && h.Reason.Act() == reason.Wait {
			known.complete = false
		}
	}
	for _, t := range assessed {
		if t.now.sync == report.SyncUnknown {
			known.complete = false
		}
		for _, h := range t.now.held {
			note(h)
		}
		for _, digest := range t.now.approved {
			known.digests[digest] = true
		}
	}
	if e.guards.report != nil {
		for _, h := range e.guards.report.Held {
			note(h)
		}
	}
	return known
}

// isReportedOrder reports whether the report has a row for an order: a one-shot operation, an approval that has no effect because of its commit, and one that
// matches no step.
func (e *Engine) isReportedOrder(o journal.Order) bool {
	_, isApproval := gate.ApprovedDigest(o.Order)
	return !isApproval || e.orders.unmatched[o.Key] || o.State == journal.OrderRefused && o.Why != ""
}
