package lane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/secret"
)

// run executes one step. The intent is durable before the first call, the UPID after each call, and the outcome at the end. If ctx ends
// meanwhile, the step stays open in the journal, and the next start settles it. It returns the warnings of the tasks.
func (w *Worker) run(ctx context.Context, basis *Basis, step plan.Step, verdict gate.Verdict, calls []secret.FilledCall) ([]string, error) {
	id := w.stepID()
	begun := newBegun(id, basis.Revision, step, verdict)
	if err := w.begin(ctx, basis, step, begun); err != nil {
		return nil, err
	}
	started := time.Now()
	w.hooks.stepBegun(step, id)
	c := w.finish(ctx, journal.OpenStep{Begun: begun, Time: started}, w.dispatch(ctx, basis, id, step, calls))
	if c.result == "" {
		return c.warnings, c.err // the outcome is not known yet: the lane settles the step before it does anything else
	}
	w.hooks.stepEnded(report.StepOutcome{
		Step: step, ID: id, Revision: basis.Revision, Result: c.result, Err: c.err, Warnings: c.warnings, Duration: time.Since(started),
	})
	if err := w.append(ctx, closing(begun, c, w.journal.State())...); err != nil {
		return c.warnings, errors.Join(c.err, err)
	}
	return c.warnings, c.err
}

// begin journals the intent, unless the epoch of the basis has ended. Destroys begin one at a time, so that two lanes cannot both begin the
// last destroy that the guards allow.
func (w *Worker) begin(ctx context.Context, basis *Basis, step plan.Step, begun journal.Begun) error {
	if step.Op == cluster.OpDestroy {
		w.destroying.Lock()
		defer w.destroying.Unlock()
		if v := basis.Gate(w.journal.State(), time.Now()).Judge(step); v.Held {
			return fmt.Errorf("hold %s of %s: %s", step.Op, step.Guest, v.Message)
		}
	}
	return w.appendIfCurrent(ctx, basis, beginFilling(begun, step, w.journal.State())...)
}
