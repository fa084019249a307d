package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gitops-agent/reconcile/journal"
)

// TaskError is a call that Proxmox took and whose task failed.
type TaskError struct {
	UPID string
	Exit string // the task's exit status, Proxmox's own text
	Log  string // the last lines of its log
}

func (e *TaskError) Error() string {
	if e.Log == "" {
		return fmt.Sprintf("task %s: %s", e.UPID, e.Exit)
	}
	return fmt.Sprintf("task %s: %s\n%s", e.UPID, e.Exit, e.Log)
}

// run carries out one step: its intent is durable before the first call, every UPID after its call, and the outcome at the
// end. When ctx ends meanwhile, the step stays open in the journal and is settled at the next start.
func (w *worker) run(ctx context.Context, world *world, step Step, verdict Verdict) error {
	id := w.ids()
	begun := newBegun(id, world.revision, step, verdict)
	if err := w.begin(ctx, world, step, begun); err != nil {
		return err
	}
	started := time.Now()
	w.hooks.stepBegun(step, id)
	result, err := w.calls(ctx, id, step)
	if result == "" {
		return err // in flight: the next start looks at what became of it
	}
	w.hooks.stepEnded(StepOutcome{Step: step, ID: id, Revision: world.revision, Result: result, Err: err, Duration: time.Since(started)})
	if jerr := w.append(ctx, closing(begun, result, err, w.journal.State())...); jerr != nil {
		return errors.Join(err, jerr)
	}
	return err
}

// begin journals the intent. Two lanes cannot both be the last destroy that the guards allow.
func (w *worker) begin(ctx context.Context, world *world, step Step, begun journal.Begun) error {
	if step.Op == OpDestroy {
		w.destroying.Lock()
		defer w.destroying.Unlock()
		if v := world.gate(w.journal.State(), time.Now()).Judge(step); v.Held {
			return fmt.Errorf("hold %s of %s: %s", step.Op, step.Guest, v.Message)
		}
	}
	return w.append(ctx, begun)
}

// calls dispatches the step's calls in order and waits for each. The result is empty when the outcome is not known yet.
func (w *worker) calls(ctx context.Context, id string, step Step) (journal.Result, error) {
	for i, call := range step.Calls {
		upid, err := w.cluster.Do(context.WithoutCancel(ctx), call)
		switch {
		case errors.Is(err, ErrOutcomeUnknown):
			return w.afterDoubt(ctx, id, err)
		case err != nil && i > 0:
			return journal.Failed, fmt.Errorf("%s of %s: %w", call.Op, step.Guest, err)
		case err != nil:
			return journal.NotRun, fmt.Errorf("%s of %s: %w", call.Op, step.Guest, err)
		}
		if err := w.append(ctx, journal.Dispatched{Step: id, UPID: upid}); err != nil {
			return "", err
		}
		if upid == "" {
			continue
		}
		task, err := w.wait(ctx, upid)
		if err != nil {
			return "", err
		}
		if !task.OK() {
			return journal.Failed, fmt.Errorf("%s of %s: %w", call.Op, step.Guest, &TaskError{UPID: upid, Exit: task.Exit, Log: task.LogTail})
		}
	}
	return journal.Done, nil
}

// afterDoubt looks at once for what became of a call without a believable reply.
func (w *worker) afterDoubt(ctx context.Context, id string, doubt error) (journal.Result, error) {
	for _, open := range w.journal.State().Open {
		if open.Step != id {
			continue
		}
		result, err := settle(ctx, w.cluster, open)
		if err != nil {
			return "", errors.Join(doubt, err)
		}
		if result == journal.Done {
			return result, nil
		}
		return result, doubt
	}
	return "", doubt
}

// wait waits for a task, again and again: a failed look says nothing about the task.
func (w *worker) wait(ctx context.Context, upid string) (Task, error) {
	for delay := time.Second; ; delay = min(2*delay, 30*time.Second) {
		task, err := w.cluster.Wait(ctx, upid)
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrDenied) {
			return task, err
		}
		select {
		case <-ctx.Done():
			return Task{}, fmt.Errorf("wait for %s: %w", upid, ctx.Err())
		case <-time.After(delay):
		}
	}
}

// newBegun returns the intent record of a step. What settling needs after a crash is in it; parameters are not, since they
// may hold what a journal must not keep.
func newBegun(id, revision string, step Step, verdict Verdict) journal.Begun {
	last := step.Calls[len(step.Calls)-1]
	b := journal.Begun{
		Step: id, VMID: step.Guest.VMID, Kind: string(step.Guest.Kind), Name: step.Guest.Name, Node: last.Node,
		Op: string(step.Op), Class: string(step.Class), Revision: revision, StepDigest: verdict.Digest,
		TaskVMID: step.Guest.VMID, TaskTypes: taskTypes(last),
		Detail: map[string]string{detailCalls: strconv.Itoa(len(step.Calls))},
	}
	if last.CloneOf != 0 {
		b.TaskVMID = last.CloneOf
	}
	if len(verdict.Approvals) > 0 {
		b.Detail[detailApprovals] = strings.Join(verdict.Approvals, " ")
	}
	return b
}

// Keys of journal.Begun.Detail.
const (
	detailCalls     = "calls"     // how many calls the step makes
	detailApprovals = "approvals" // keys of the orders that released it
)

// closing returns the records that end a step: its outcome, and what follows from it for ownership, vmids and orders.
func closing(begun journal.Begun, result journal.Result, err error, state journal.State) []journal.Body {
	ended := journal.Ended{Step: begun.Step, Result: result}
	if err != nil {
		ended.Error = err.Error()
	}
	records := []journal.Body{ended}
	if result != journal.Done {
		return records
	}
	if begun.Op == string(OpDestroy) {
		records = append(records, journal.Disowned{VMID: begun.VMID, Reason: "destroyed"})
		if state.Assigned[journal.Label{Kind: begun.Kind, Name: begun.Name}] == begun.VMID {
			records = append(records, journal.Assigned{Kind: begun.Kind, Name: begun.Name})
		}
	}
	for key := range strings.FieldsSeq(begun.Detail[detailApprovals]) {
		order := state.Orders[key].Ordered
		order.Key, order.State, order.Step = key, journal.OrderRun, begun.Step
		records = append(records, order)
	}
	return records
}
