package reconcile

import (
	"slices"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// noteHolds states which steps of a guest are held. While nothing may be written at all, every step is held for that reason, which writes.stopped tells once,
// and the holds of before last.
func noteHolds(t *track, p plan.Guest) {
	for _, h := range t.now.held {
		switch {
		case h.Op == plan.OpWeaken: // noteWeakenings states it, once for all guests that the line concerns
		case h.Op == plan.OpRollout: // noteRollouts tells it, once for each batch
		case h.Reason == reason.WritesStopped:
			t.said.Keep(event.StepHeld, string(h.Op))
		default:
			t.said.Lasts(event.StepHeld, event.ID{string(h.Op), string(h.Reason), h.Digest}, func() event.Details { return holdDetails(p.Ref, h) })
		}
	}
	t.said.Rest(event.StepHeld, func(id event.ID) event.Name {
		isOp := func(s plan.Step) bool { return string(s.Op) == id[0] }
		switch {
		case slices.ContainsFunc(t.now.held, func(h report.HeldStep) bool { return string(h.Op) == id[0] }):
			return "" // held for another reason, which was told
		case slices.ContainsFunc(p.Orders, isOp), slices.ContainsFunc(p.Steps, isOp):
			return event.StepReleased
		}
		return event.StepWithdrawn
	})
}

// dropHolds tells that the held steps of a guest that left the plan are no longer planned.
func (t *track) dropHolds() {
	t.said.Rest(event.StepHeld, func(event.ID) event.Name { return event.StepWithdrawn })
}

func holdDetails(ref guest.Ref, h report.HeldStep) event.Details {
	return event.Details{
		Fields:  []any{"vmid", ref.VMID, "guest", ref.Label(), "op", string(h.Op), "reason", string(h.Reason), "digest", h.Digest, "hint", h.Hint, "why", h.Message},
		Outcome: report.HoldOutcome{Guest: ref, Step: h},
	}
}

// noteWeakenings states which guards the manifests weaken without enough approvals.
func (e *Engine) noteWeakenings() {
	for _, w := range e.guards.now.Weakenings {
		e.said.Lasts(event.GuardHeld, event.ID{w.Digest}, func() event.Details {
			return event.Details{Fields: []any{"change", w.String(), "guests", len(w.Guests), "digest", w.Digest}}
		})
	}
	e.said.Rest(event.GuardHeld, nil)
}

// noteHidden states whether the token may see a guest. While that is not known, nothing changes.
func noteHidden(t *track, p plan.Guest) {
	hidden := slices.ContainsFunc(t.now.conditions, func(c plan.Condition) bool { return c.Reason == reason.Hidden })
	if !hidden && t.now.sync == report.SyncUnknown {
		return
	}
	t.said.Is(event.GuestHidden, hidden, event.ID{}, func() event.Details {
		return event.Details{Fields: []any{"vmid", p.Ref.VMID, "guest", p.Ref.Label()}}
	}, nil)
}
