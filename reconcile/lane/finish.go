package lane

import (
	"context"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
)

// finish makes the further call that a step may owe once its own calls are over, in this life of the agent or the next: a restart owes
// the guest's start, a configuration its cloud-init drive. Nobody would plan that call again, so the step stays open until it is made.
func (w *Worker) finish(ctx context.Context, step journal.OpenStep, c conclusion) conclusion {
	switch {
	case c.result == "" || c.result == journal.NotRun:
		return c // nobody can tell yet, or nothing follows from what was not done
	case cluster.Op(step.Op) == cluster.OpReboot:
		c.dispatched = max(c.dispatched, 1) // also where its reply was lost
		return w.revive(ctx, step, c)
	case owesDrive(step.Begun) && (c.result == journal.Unknown || c.result == journal.Failed && c.done > 0):
		return w.refresh(ctx, step, c)
	}
	return c
}
