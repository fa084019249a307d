package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/secret"
)

// run executes one step. The intent is durable before the first call, the UPID after each call, and the outcome at the end. If ctx ends
// meanwhile, the step stays open in the journal, and the next start settles it. The step was planned from the last reading of the turn. It returns the
// warnings of the tasks.
func (w *Worker) run(ctx context.Context, basis *Basis, step plan.Step, verdict gate.Verdict, calls []secret.FilledCall, t *turn) ([]string, error) {
	id, seen := w.stepID(), t.Seen
	begun := newBegun(id, basis.Revision, step, verdict)
	noteLift(begun, step, seen)
	noteWrites(begun, step, seen)
	noteStartByHA(begun, step, seen)
	begun.TakesBack = t.memory.takesBack(step)
	if err := w.noteTasks(ctx, begun); err != nil {
		return nil, fmt.Errorf("%s of %s: %w", step.Op, step.Guest, err)
	}
	if err := w.begin(ctx, basis, step, verdict, begun, t); err != nil {
		return nil, err
	}
	w.fillsSeen.Store(id, true)
	w.noteBegin(id)
	started := time.Now()
	w.hooks.stepBegun(report.StepBegun{Step: step, ID: id, Revision: basis.Revision})
	ctx = cluster.WithStep(ctx, id)
	c := w.dispatch(ctx, basis, begun, step, calls, func() error {
		return basis.checkPolicies(w.journal.State(), time.Now(), step, verdict, seen)
	})
	w.noteReturned(id)
	c = w.finish(ctx, journal.OpenStep{Begun: begun, Time: started}, c)
	if c.result == "" {
		return c.warnings, c.err // the outcome is not known yet: the lane settles the step before it does anything else
	}
	w.hooks.stepEnded(report.StepOutcome{
		Step: step, ID: id, Revision: basis.Revision, Result: c.result, Err: c.err, Warnings: c.warnings, Duration: time.Since(started),
	})
	if err := w.end(ctx, begun, c, t.memory.afterNothing(c)...); err != nil {
		return c.warnings, errors.Join(c.err, err)
	}
	return c.warnings, c.err
}

// begin journals the intent, unless the epoch of the basis has ended. Destroys begin one at a time, so that two lanes cannot both begin the
// last destroy that the guards allow.
func (w *Worker) begin(ctx context.Context, basis *Basis, step plan.Step, verdict gate.Verdict, begun journal.Begun, t *turn) error {
	if step.Op == cluster.OpDestroy {
		w.destroying.Lock()
		defer w.destroying.Unlock()
		if v := basis.Gate(w.journal.State(), time.Now()).Judge(step); v.Held {
			return fmt.Errorf("hold %s of %s: %s", step.Op, step.Guest, v.Message)
		}
	}
	state := w.journal.State()
	records := slices.Concat(w.beginConfiguring(basis, step, state), beginFilling(basis, begun, step, state, t.Seen), noteApprovals(step, verdict, state), beginObject(step, state), t.memory.begin(step))
	return w.appendIfCurrent(ctx, basis, append(records, w.beginOrder(step, begun, t.Seen)...)...)
}

// end journals the outcome of a step, and everything that follows from it, with other records.
func (w *Worker) end(ctx context.Context, begun journal.Begun, c conclusion, others ...journal.Body) error {
	state := w.journal.State()
	c.log, c.at = w.orderLog(ctx, begun, c), w.endedAt(begun, state)
	if err := w.append(ctx, slices.Concat(closing(begun, c, state), w.endFilling(ctx, begun, c, state), others)...); err != nil {
		return err
	}
	w.fillsSeen.Delete(begun.Step)
	w.begun.Delete(begun.Step)
	w.clocks.Delete(begun.Step)
	return nil
}
