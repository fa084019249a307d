package reconcile

import (
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// heldSteps are the held steps of one guest that were logged.
type heldSteps []report.HeldStep

func (h heldSteps) contains(step report.HeldStep) bool {
	return slices.ContainsFunc(h, func(k report.HeldStep) bool {
		return k.Op == step.Op && k.Reason == step.Reason && k.Digest == step.Digest
	})
}

func (h heldSteps) holds(op cluster.Op) bool {
	return slices.ContainsFunc(h, func(k report.HeldStep) bool { return k.Op == op })
}

// noteHolds logs the steps of a guest that are held now and were not, and those whose hold has ended. While nothing may be written at all, every step is
// held for that reason, which writes.stopped states once.
func (e *Engine) noteHolds(t *track, p plan.Guest) {
	var logged heldSteps
	now := heldSteps(t.now.held)
	for _, h := range now {
		switch {
		case h.Op == plan.OpWeaken: // noteWeakenings logs it, once for all guests that the line concerns
		case h.Op == plan.OpRollout: // noteRollouts logs it, once for each batch
		case h.Reason == reason.WritesStopped:
			logged = append(logged, slices.DeleteFunc(slices.Clone(t.logged), func(k report.HeldStep) bool { return k.Op != h.Op })...)
		default:
			logged = append(logged, h)
			if !t.logged.contains(h) {
				e.noteHold(p.Ref, report.Held, h)
			}
		}
	}
	for _, h := range t.logged {
		switch {
		case now.holds(h.Op):
		case slices.ContainsFunc(slices.Concat(p.Orders, p.Steps), func(s plan.Step) bool { return s.Op == h.Op }):
			e.noteHold(p.Ref, report.Released, h)
		default:
			e.noteHold(p.Ref, report.Withdrawn, h)
		}
	}
	t.logged, t.ref = logged, p.Ref
}

// dropHolds logs that the held steps of a guest that left the plan are no longer planned.
func (e *Engine) dropHolds(t *track) {
	for _, h := range t.logged {
		e.noteHold(t.ref, report.Withdrawn, h)
	}
}

// noteHold passes what happened to a held step to the hooks and to the log.
func (e *Engine) noteHold(ref guest.Ref, what report.HoldEvent, h report.HeldStep) {
	e.opts.Hooks.hold(report.HoldOutcome{Guest: ref, Step: h, Event: what})
	attrs := []any{"vmid", ref.VMID, "guest", ref.Label(), "op", string(h.Op), "reason", string(h.Reason)}
	if h.Digest != "" {
		attrs = append(attrs, "digest", h.Digest)
	}
	switch what {
	case report.Held:
		if h.Hint != "" {
			attrs = append(attrs, "hint", h.Hint)
		}
		e.log.Info("step held", append(attrs, event.Key, event.StepHeld, "why", h.Message)...)
	case report.Released:
		e.log.Info("held step released", append(attrs, event.Key, event.StepReleased)...)
	case report.Withdrawn:
		e.log.Info("held step no longer planned", append(attrs, event.Key, event.StepWithdrawn)...)
	}
}

// noteWeakenings logs the guards that manifests weaken without enough approvals, and those that they no longer weaken.
func (e *Engine) noteWeakenings() {
	now := make(map[string]string, len(e.guards.now.Weakenings))
	for _, w := range e.guards.now.Weakenings {
		now[w.Digest] = w.String()
		if _, known := e.guards.logged[w.Digest]; !known {
			e.log.Warn("weaker guard held", event.Key, event.GuardHeld, "change", w.String(), "guests", len(w.Guests), "digest", w.Digest)
		}
	}
	for digest, change := range e.guards.logged {
		if _, still := now[digest]; !still {
			e.log.Info("weaker guard no longer wanted", event.Key, event.GuardWithdrawn, "change", change, "digest", digest)
		}
	}
	e.guards.logged = now
}
