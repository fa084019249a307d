package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// TaskError is a call that Proxmox took and whose task failed.
type TaskError struct {
	UPID string
	Exit string // the task's exit status, Proxmox's own text
	Log  string // the last lines of its log
	Err  error  // the error of a Cluster that the exit status stands for; nil where it speaks for itself
}

func (e *TaskError) Error() string {
	if e.Log == "" {
		return fmt.Sprintf("task %s: %s", e.UPID, e.Exit)
	}
	return fmt.Sprintf("task %s: %s\n%s", e.UPID, e.Exit, e.Log)
}

// Unwrap returns what the exit status stands for.
func (e *TaskError) Unwrap() error { return e.Err }

func newTaskError(task Task) *TaskError {
	return &TaskError{UPID: task.UPID, Exit: task.Exit, Log: task.LogTail, Err: task.Err}
}

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
	c := w.calls(ctx, world, id, step, calls)
	if step.Op == OpReboot {
		c = w.revive(ctx, id, step.Calls[0], started, c)
	}
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

// conclusion is how a step's calls ended.
type conclusion struct {
	result     journal.Result // "" while nobody can tell
	err        error
	dispatched int               // calls that Proxmox took
	given      map[string]string // fingerprints of the secrets in those that were carried out, by key
	warned     []string          // lines of tasks that ended well with warnings
}

// give remembers the fingerprints of what a call that was carried out gave the guest.
func (c *conclusion) give(fingerprints map[string]string) {
	if c.given == nil && len(fingerprints) > 0 {
		c.given = make(map[string]string, len(fingerprints))
	}
	maps.Copy(c.given, fingerprints)
}

// calls dispatches the step's calls in order, with their secrets, and waits for each.
func (w *worker) calls(ctx context.Context, world *world, id string, step Step, calls []filled) conclusion {
	c := conclusion{}
	end := func(result journal.Result, call Call, err error) conclusion {
		c.result, c.err = result, fmt.Errorf("%s of %s: %w", call.Op, step.Guest, err)
		return c
	}
	for i, call := range step.Calls {
		if i > 0 {
			if err := w.stillRight(ctx, world, step, call); err != nil {
				return end(journal.Failed, call, err)
			}
		}
		upid, err := w.cluster.Do(context.WithoutCancel(ctx), calls[i].call)
		err = calls[i].hideIn(err)
		switch {
		case errors.Is(err, ErrOutcomeUnknown):
			return w.afterDoubt(ctx, id, err)
		case err != nil && i > 0:
			return end(journal.Failed, call, err)
		case err != nil:
			return end(journal.NotRun, call, err)
		}
		c.dispatched++
		if err := w.append(ctx, journal.Dispatched{Step: id, UPID: upid}); err != nil {
			return conclusion{err: err}
		}
		if upid == "" {
			c.give(calls[i].given)
			continue
		}
		task, err := w.wait(ctx, upid)
		task = calls[i].hide(task)
		switch {
		case errors.Is(err, ErrNoTask) || err == nil && task.lost():
			return w.afterDoubt(ctx, id, cmp.Or(err, errWorkerDied))
		case err != nil:
			return conclusion{err: err}
		case !task.OK():
			return end(journal.Failed, call, newTaskError(task))
		}
		c.warned = append(c.warned, task.Warnings...)
		switch err := w.follow(ctx, call, upid); {
		case errors.Is(err, errNoEffect):
			return end(journal.Failed, call, err)
		case err != nil:
			return conclusion{err: err}
		}
		c.give(calls[i].given)
	}
	c.result = journal.Done
	return c
}

// errWorkerDied says that nobody knows how a task ended: its process went away.
var errWorkerDied = errors.New("its task's process went away without a word")

// stillRight looks again between the calls of a composite, which take time: what was planned must still be wanted, and the guest
// about to be destroyed must still be the one that was planned for.
func (w *worker) stillRight(ctx context.Context, world *world, step Step, call Call) error {
	if w.passed(world) {
		return errSuperseded
	}
	if call.Op != OpDestroy {
		return nil
	}
	row, listed := world.row(call.VMID)
	if !listed {
		row = Row{Kind: call.Kind, VMID: call.VMID, Node: call.Node}
	}
	seen, err := w.cluster.Observe(ctx, row)
	if err != nil {
		return fmt.Errorf("look again before destroying: %w", err)
	}
	owned := w.journal.State().Owned[call.VMID]
	if weigh(owned, seen).doubt() != step.Doubt || weigh(owned, seen).conflict(seen.Kind) != "" || !slices.Equal(guest.Volumes(seen), step.Volumes) {
		return errors.New("the guest is not the one any more that was to be destroyed")
	}
	return nil
}

// afterDoubt looks at once for what became of a call without a believable reply.
func (w *worker) afterDoubt(ctx context.Context, id string, doubt error) conclusion {
	for _, open := range w.journal.State().Open {
		if open.Step != id {
			continue
		}
		result, err := settle(ctx, w.cluster, open, w.journal.State().Owned[open.VMID])
		switch {
		case err != nil:
			return conclusion{err: errors.Join(doubt, err)}
		case result == journal.Done:
			return conclusion{result: result, dispatched: open.Dispatched}
		}
		return conclusion{result: result, err: doubt, dispatched: open.Dispatched}
	}
	return conclusion{err: doubt}
}

// looksInVain is how often in a row a task may fail to be looked at before its lane lets go. The step stays open, and the next
// turn begins with it.
const looksInVain = 5

// wait waits for a task. A failed look says nothing about the task, so it looks again, but not for ever: other guests need the
// lane.
func (w *worker) wait(ctx context.Context, upid string) (Task, error) {
	for failures, delay := 1, time.Second; ; failures, delay = failures+1, 2*delay {
		task, err := w.cluster.Wait(ctx, upid)
		if err == nil || ctx.Err() != nil || failures == looksInVain || errors.Is(err, ErrDenied) || errors.Is(err, ErrNoTask) {
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
func closing(begun journal.Begun, c conclusion, state journal.State) []journal.Body {
	ended := journal.Ended{Step: begun.Step, Result: c.result}
	if c.err != nil {
		ended.Error = c.err.Error()
	}
	records := append([]journal.Body{ended}, afterGiving(begun, c, state)...)
	if c.result == journal.Done && begun.Op == string(OpDestroy) {
		records = append(records, journal.Disowned{VMID: begun.VMID, Reason: "destroyed"})
		if state.Assigned[journal.Label{Kind: begun.Kind, Name: begun.Name}] == begun.VMID {
			records = append(records, journal.Assigned{Kind: begun.Kind, Name: begun.Name})
		}
	}
	orderState, spent := spends(begun, c)
	if !spent {
		return records
	}
	for key := range strings.FieldsSeq(begun.Detail[detailApprovals]) {
		order := state.Orders[key].Ordered
		order.Key, order.State, order.Step = key, orderState, begun.Step
		records = append(records, order)
	}
	return records
}

// spends reports what becomes of the orders that released a step. An order runs at most once: it is kept only when the call that it
// was for is known not to have acted.
func spends(begun journal.Begun, c conclusion) (journal.OrderState, bool) {
	calls, err := strconv.Atoi(begun.Detail[detailCalls])
	reached := err != nil || c.dispatched >= calls
	switch c.result {
	case journal.Done:
		return journal.OrderRun, true
	case journal.Unknown:
		return journal.OrderUnknown, true
	case journal.Failed:
		return journal.OrderRun, reached
	case journal.NotRun:
	}
	return "", false
}
