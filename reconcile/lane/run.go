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

// ErrSuperseded says that the step was planned under a revision, or under leave to write, that is no longer in force.
var ErrSuperseded = errors.New("planned under a revision that is no longer in force")

// run carries out one step: its intent is durable before the first call, every UPID after its call, and the outcome at the
// end. When ctx ends meanwhile, the step stays open in the journal and is settled at the next start. It returns what the tasks
// warned of.
func (w *Worker) run(ctx context.Context, world *Basis, step plan.Step, verdict gate.Verdict, calls []secret.FilledCall) ([]string, error) {
	id := w.Ids()
	begun := newBegun(id, world.Revision, step, verdict)
	if err := w.begin(ctx, world, step, begun); err != nil {
		return nil, err
	}
	started := time.Now()
	w.Hooks.stepBegun(step, id)
	c := w.finish(ctx, journal.OpenStep{Begun: begun, Time: started}, w.calls(ctx, world, id, step, calls))
	if c.result == "" {
		return c.warned, c.err // nobody can tell yet: the lane looks again before it does anything else
	}
	w.Hooks.stepEnded(report.StepOutcome{
		Step: step, ID: id, Revision: world.Revision, Result: c.result, Err: c.err, Warnings: c.warned, Duration: time.Since(started),
	})
	if err := w.append(ctx, closing(begun, c, w.Journal.State())...); err != nil {
		return c.warned, errors.Join(c.err, err)
	}
	return c.warned, c.err
}

// begin journals the intent, unless a newer revision came into force since the step was planned. Two lanes cannot both be
// the last destroy that the guards allow.
func (w *Worker) begin(ctx context.Context, world *Basis, step plan.Step, begun journal.Begun) error {
	if step.Op == cluster.OpDestroy {
		w.destroying.Lock()
		defer w.destroying.Unlock()
		if v := world.Gate(w.Journal.State(), time.Now()).Judge(step); v.Held {
			return fmt.Errorf("hold %s of %s: %s", step.Op, step.Guest, v.Message)
		}
	}
	return w.appendIfCurrent(ctx, world, begun)
}

// appendIfCurrent appends records that follow from a world, unless the world has passed. The intake accepts no revision meanwhile.
func (w *Worker) appendIfCurrent(ctx context.Context, world *Basis, records ...journal.Body) error {
	w.Turn.RLock()
	defer w.Turn.RUnlock()
	if w.superseded(world) {
		return ErrSuperseded
	}
	return w.append(ctx, records...)
}

// superseded reports whether something else is in force by now than the world that a step was planned in.
func (w *Worker) superseded(world *Basis) bool {
	now := w.World()
	accepted := w.Journal.State().Accepted
	return now.Revision != world.Revision || now.NoWrites != gate.WritesAllowed || accepted == nil || accepted.Commit != world.Commit
}
