package lane

import (
	"context"
	"errors"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
)

// finish makes the call that a step may still need when its own calls have ended, now or after a restart of the agent: a restart of the guest
// needs the start, a configuration needs the cloud-init drive, a guest whose protection was lifted needs it again, and what a refused call left waiting is taken back. No later plan contains that call, so the step stays open until it is made.
func (w *Worker) finish(ctx context.Context, step journal.OpenStep, c conclusion) conclusion {
	if c.refused || c.result == journal.Unknown {
		c = w.takeBack(ctx, step, c)
	}
	if cluster.Op(step.Op) == cluster.OpMigrate && c.done == 0 && !errors.Is(c.err, errMoveUnknown) && (c.result == journal.Done || c.result == journal.Unknown) {
		c = w.awaitSettledMove(ctx, step, c)
	}
	switch {
	case c.lifted && c.result != "" && c.result != journal.Done:
		return w.protectAgain(ctx, step, c)
	case c.result == "" || c.result == journal.NotRun:
		return c // the outcome is not known yet, or the step had no effect
	case step.Detail[detailOrder] != "":
		return w.finishOrder(ctx, step, c)
	case cluster.Op(step.Op) == cluster.OpDownload:
		return w.finishDownload(ctx, step, c)
	case cluster.Op(step.Op) == cluster.OpDeleteFile:
		return w.finishDeletion(ctx, step, c)
	case cluster.Op(step.Op) == cluster.OpReboot:
		c.dispatched = max(c.dispatched, 1) // also if the reply was lost
		return w.finishRestart(ctx, step, c)
	case needsDrive(step.Begun) && (c.result == journal.Unknown || c.result == journal.Failed && c.done > 0):
		return w.writeDrive(ctx, step, c)
	}
	return c
}
