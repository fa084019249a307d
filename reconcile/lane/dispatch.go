package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/secret"
)

// errTaskLost is the outcome of a task whose process ended without one.
var errTaskLost = errors.New("the process of its task ended without an outcome")

// dispatch sends the step's calls in order, with their secrets, and waits for the effect of each.
// Judged asks the policies again; it is the end of the last check, after everything that waits.
func (w *Worker) dispatch(ctx context.Context, basis *Basis, begun journal.Begun, step plan.Step, calls []secret.FilledCall, judged func() error) conclusion {
	c, id := conclusion{}, begun.Step
	end := func(result journal.Result, call cluster.Call, err error) conclusion {
		c.result, c.err = result, fmt.Errorf("%s of %s: %w", call.Op, step.Guest, err)
		return c
	}
	for i, call := range step.Calls {
		if i > 0 && step.Lifts() && call.Op.WritesConfig() {
			var err error
			if call, err = w.afterLift(ctx, basis, begun, call); err != nil {
				return end(journal.Failed, call, err)
			}
			calls[i].Call.Digest = call.Digest
		}
		sent := false
		upid, err := w.cluster.Do(ctx, calls[i].Call, func(ctx context.Context) error {
			err := w.lastCheck(ctx, basis, step, call)
			if err == nil {
				err = judged()
			}
			w.noteSent(id)
			sent = err == nil
			return err
		})
		sent = sent && !errors.Is(err, cluster.ErrNotSent)
		c.sent = sent && i == len(step.Calls)-1
		// A refused call may have acted: Proxmox stores the change of a container before it applies it.
		c.lifted = c.lifted || step.Lifts() && sent && !errors.Is(err, cluster.ErrConflict)
		c.refused = err != nil && sent && call.Op == cluster.OpConfig && !errors.Is(err, cluster.ErrConflict)
		if errors.Is(err, cluster.ErrRefusedLate) {
			var warning string
			if warning, err = w.afterRefusal(ctx, basis, step, call, err); warning != "" {
				c.warnings = append(c.warnings, warning)
			}
		}
		switch {
		case errors.Is(err, cluster.ErrOutcomeUnknown):
			return w.afterDoubt(ctx, id, err)
		case err != nil && i > 0:
			return end(journal.Failed, call, err)
		case err != nil:
			return end(journal.NotRun, call, err) // Proxmox refused the call, or the last check did
		}
		c.dispatched++
		if err := w.append(ctx, journal.Dispatched{Step: id, UPID: upid}); err != nil {
			return conclusion{err: err}
		}
		if upid != "" {
			task, err := w.wait(ctx, call, upid)
			switch {
			case errors.Is(err, cluster.ErrNoTask) || err == nil && task.Lost():
				return w.afterDoubt(ctx, id, cmp.Or(err, errTaskLost))
			case err != nil:
				return conclusion{err: err}
			case !task.OK():
				c.task, c.log, c.refused = upid, task.LogTail, call.Op == cluster.OpConfig
				return end(journal.Failed, call, cluster.NewTaskError(task))
			}
			c.warnings = append(c.warnings, task.Warnings...)
			c.task = upid
		}
		switch err := w.waitForEffect(ctx, call, upid); {
		case errors.Is(err, errNoEffect), errors.Is(err, errNotMoved):
			return end(journal.Failed, call, err)
		case errors.Is(err, errMoveUnknown):
			return end(journal.Unknown, call, err)
		case err != nil:
			return conclusion{err: err}
		}
		c.done++
		c.give(calls[i].Fingerprints)
	}
	c.result = journal.Done
	return c
}

// afterDoubt tries to find the outcome of a call whose reply is missing or cannot be used. A call without a reply may still be waiting in
// Proxmox, so the absence of an effect does not prove anything yet.
func (w *Worker) afterDoubt(ctx context.Context, id string, doubt error) conclusion {
	for _, open := range w.journal.State().Open {
		if open.Step != id {
			continue
		}
		about := w.doubtAbout(open)
		if !errors.Is(doubt, cluster.ErrUnanswered) {
			about.late = time.Time{}
		}
		about = w.askNode(ctx, open, about)
		c, err := w.outcomeOf(ctx, open, about)
		switch {
		case err != nil:
			return conclusion{err: errors.Join(doubt, err)}
		case c.result != journal.Done && c.err == nil:
			c.err = doubt
		}
		return c
	}
	return conclusion{err: doubt}
}
