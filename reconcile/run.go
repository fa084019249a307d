package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/reconcile/journal"
)

// errSuperseded says that the step was planned under a revision, or under leave to write, that is no longer in force.
var errSuperseded = errors.New("planned under a revision that is no longer in force")

// run carries out one step: its intent is durable before the first call, every UPID after its call, and the outcome at the
// end. When ctx ends meanwhile, the step stays open in the journal and is settled at the next start. It returns what the tasks
// warned of.
func (w *worker) run(ctx context.Context, world *world, step Step, verdict Verdict, calls []filled) ([]string, error) {
	id := w.ids()
	begun := newBegun(id, world.revision, step, verdict)
	if err := w.begin(ctx, world, step, begun); err != nil {
		return nil, err
	}
	started := time.Now()
	w.hooks.stepBegun(step, id)
	c := w.finish(ctx, journal.OpenStep{Begun: begun, Time: started}, w.calls(ctx, world, id, step, calls))
	if c.result == "" {
		return c.warned, c.err // nobody can tell yet: the lane looks again before it does anything else
	}
	w.hooks.stepEnded(StepOutcome{
		Step: step, ID: id, Revision: world.revision, Result: c.result, Err: c.err, Warnings: c.warned, Duration: time.Since(started),
	})
	if err := w.append(ctx, closing(begun, c, w.journal.State())...); err != nil {
		return c.warned, errors.Join(c.err, err)
	}
	return c.warned, c.err
}

// begin journals the intent, unless a newer revision came into force since the step was planned. Two lanes cannot both be
// the last destroy that the guards allow.
func (w *worker) begin(ctx context.Context, world *world, step Step, begun journal.Begun) error {
	if step.Op == OpDestroy {
		w.destroying.Lock()
		defer w.destroying.Unlock()
		if v := world.gate(w.journal.State(), time.Now()).Judge(step); v.Held {
			return fmt.Errorf("hold %s of %s: %s", step.Op, step.Guest, v.Message)
		}
	}
	return w.under(ctx, world, begun)
}

// under appends records that follow from a world, unless the world has passed. The intake accepts no revision meanwhile.
func (w *worker) under(ctx context.Context, world *world, records ...journal.Body) error {
	w.turn.RLock()
	defer w.turn.RUnlock()
	if w.passed(world) {
		return errSuperseded
	}
	return w.append(ctx, records...)
}

// passed reports whether something else is in force by now than the world that a step was planned in.
func (w *worker) passed(world *world) bool {
	now := w.world()
	accepted := w.journal.State().Accepted
	return now.revision != world.revision || now.noWrites != WritesAllowed || accepted == nil || accepted.Commit != world.commit
}
