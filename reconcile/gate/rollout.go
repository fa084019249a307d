package gate

import (
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// Withheld is a guest that a rollout has not released: it does not get the revision in force yet.
type Withheld struct {
	Hold  Verdict // why, and what would release it
	Known bool    // it is planned for its last released revision, so its steps repair drift
	Live  bool    // the rollout holds changes that interrupt nothing too
	By    []journal.Introduction
}

// holds reports whether a step would bring the revision in force to the guest.
func (w Withheld) holds(step plan.Step) bool {
	return step.Order == nil && !w.Known && (w.Live || step.Class != guest.Live || step.Op == cluster.OpDestroy)
}

// judgeRollout holds a step of a guest that its rollout has not released, and whose last released revision is not what the step follows from.
func (g Gate) judgeRollout(step plan.Step) Verdict {
	if w, withheld := g.Withheld[step.Guest.VMID]; withheld && w.holds(step) {
		return w.Hold
	}
	return Verdict{}
}

// NewWithheld returns the verdict on a guest that waits for its turn in a rollout.
func NewWithheld(message, hint string) Verdict { return held(reason.Rollout, message, hint) }
