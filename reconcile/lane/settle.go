package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/ownership"
)

// clockSkew is how far the clocks of the agent and of a node may differ when a lost task is looked for.
const clockSkew = 5 * time.Minute

// lateTime is how long after the beginning of its step a call without an answer may still act. A node has few workers; a call waits for one
// of them, and the proxy in front of them gives up long before the call does.
const lateTime = 10 * time.Minute

// taskLag is how much earlier than its step's beginning a task of the step may have begun, by the node's clock, and be known for one of it.
const taskLag = 10 * time.Second

// makingTime is how long a guest whose task is not known may look half-made before it is taken for one that stays so.
const makingTime = 10 * time.Minute

// settle establishes what became of a step whose outcome is not journaled, by looking at its task, at the task list and at the
// guest, in this order. It repeats nothing. An error means that it could not look, or that there is nothing to see yet; the step
// stays open. Late is until when a call without an answer may still act, the zero time where all calls were answered, if only with
// words that nobody can believe.
func settle(ctx context.Context, reader cluster.Reader, open journal.OpenStep, owned journal.Owned, late time.Time) (journal.Result, error) {
	if open.UPID != "" && !partial(open) {
		task, err := reader.Wait(ctx, open.UPID)
		if err == nil && !task.Lost() {
			return taskResult(task), nil
		}
		if err != nil && !errors.Is(err, cluster.ErrNoTask) {
			return "", fmt.Errorf("wait for task of step %s: %w", open.Step, err)
		}
	}
	if open.Dispatched > 0 && open.UPID == "" && !partial(open) {
		return journal.Done, nil // Proxmox took the last call and had done it when it answered
	}
	inDoubt, ran := open.Dispatched == 0 || partial(open), true
	if inDoubt {
		var err error
		if ran, err = awaitLostTask(ctx, reader, open); err != nil {
			return "", err
		}
	}
	switch result, err := fromGuest(ctx, reader, open, owned, ran); {
	case err != nil || result != "":
		return result, err
	case !inDoubt || late.IsZero():
		return untouched(open), nil
	case time.Now().Before(late):
		return "", fmt.Errorf("%s of %s %d: nothing shows it, and Proxmox may still carry it out; nothing else is done for the guest until %s: %w",
			open.Op, open.Kind, open.VMID, late.UTC().Format(time.TimeOnly+" UTC"), cluster.ErrUnanswered)
	case open.Dispatched+1 < calls(open):
		return untouched(open), nil // the call in doubt prepared the one that the step is for, which was never sent
	}
	return journal.Unknown, nil
}

// untouched returns what a step came to whose last call left the guest as it was.
func untouched(open journal.OpenStep) journal.Result {
	switch op := cluster.Op(open.Op); {
	case op == cluster.OpDestroy && open.Dispatched > 0:
		return journal.Failed // stopped or unprotected it was, at least
	case op == cluster.OpMigrate, op == cluster.OpTemplate:
		return journal.Unknown // planning again tells
	}
	return journal.NotRun
}

// calls returns how many calls the step makes, 0 where nobody knows.
func calls(open journal.OpenStep) int {
	n, err := strconv.Atoi(open.Detail[detailCalls])
	if err != nil {
		return 0
	}
	return n
}

// partial reports whether the step has calls that were not known to be dispatched.
func partial(open journal.OpenStep) bool { return open.Dispatched < calls(open) }

func taskResult(task cluster.Task) journal.Result {
	if task.OK() {
		return journal.Done
	}
	return journal.Failed
}

// awaitLostTask waits for a task that the step's call may have started before the agent lost its reply, and reports whether there is one
// that began with the step, not before it. One that has ended left its mark on the guest.
func awaitLostTask(ctx context.Context, reader cluster.Reader, open journal.OpenStep) (bool, error) {
	if len(open.TaskTypes) == 0 {
		return false, nil
	}
	tasks, err := reader.Tasks(ctx, cluster.TaskQuery{Node: open.Node, VMID: open.TaskVMID, Types: open.TaskTypes, Since: open.Time.Add(-clockSkew)})
	if err != nil {
		return false, fmt.Errorf("list tasks for step %s: %w", open.Step, err)
	}
	if i := slices.IndexFunc(tasks, func(t cluster.Task) bool { return t.Running }); i >= 0 {
		if _, err := reader.Wait(ctx, tasks[i].UPID); err != nil {
			return false, fmt.Errorf("wait for task of step %s: %w", open.Step, err)
		}
	}
	return slices.ContainsFunc(tasks, func(t cluster.Task) bool { return !t.Start.Before(open.Time.Add(-taskLag)) }), nil
}

// fromGuest reads the effect off the guest itself; ran says whether the step's last call has a task. It returns "" for a guest that shows
// no effect. What leaves no unmistakable trace is unknown; planning again is safe then, because a plan starts from what is there,
// and a call that comes late is refused for its digest or does what is there already.
func fromGuest(ctx context.Context, reader cluster.Reader, open journal.OpenStep, owned journal.Owned, ran bool) (journal.Result, error) {
	op := cluster.Op(open.Op)
	if !ran && op.LeavesTask() {
		return "", nil // without a task it was not carried out
	}
	exists, err := reader.Exists(ctx, open.VMID)
	if err != nil {
		return "", fmt.Errorf("ask for vmid %d of step %s: %w", open.VMID, open.Step, err)
	}
	switch {
	case op == cluster.OpCreate && !exists:
		return "", nil
	case op == cluster.OpCreate:
		return whoseGuest(ctx, reader, open, owned)
	case op == cluster.OpDestroy:
		return resultOf(!exists), nil
	case op == cluster.OpReboot:
		return journal.Failed, nil // whether it came back is looked at next; what it was to bring into effect, the plan tells
	case op.Reaches() != "":
		return runStateResult(ctx, reader, open, op.Reaches())
	}
	return journal.Unknown, nil
}

// whoseGuest tells what a create without a believable reply left under its vmid: the guest that was wanted, a torso of it, or
// another one that took the vmid meanwhile.
func whoseGuest(ctx context.Context, reader cluster.Reader, open journal.OpenStep, owned journal.Owned) (journal.Result, error) {
	seen, err := reader.Observe(ctx, cluster.Row{Kind: guest.Kind(open.Kind), VMID: open.VMID, Node: open.Node})
	switch proof := ownership.Weigh(owned, seen); {
	case errors.Is(err, cluster.ErrNotExist), errors.Is(err, cluster.ErrDenied):
		return journal.Unknown, nil // it is another kind, on another node, or nobody may look
	case err != nil:
		return "", fmt.Errorf("read guest of step %s: %w", open.Step, err)
	case cluster.PartlyCreated(seen) && time.Since(open.Time) < makingTime:
		return "", fmt.Errorf("%w: %s of step %s is still being made, or was left half-made (lock: %s)", cluster.ErrLocked, open.Name, open.Step, seen.Lock)
	case cluster.PartlyCreated(seen):
		return journal.Failed, nil
	case proof.Tag || proof.Note:
		return journal.Done, nil
	default:
		return journal.NotRun, nil
	}
}

func resultOf(done bool) journal.Result {
	if done {
		return journal.Done
	}
	return ""
}

func runStateResult(ctx context.Context, reader cluster.Reader, open journal.OpenStep, want guest.Status) (journal.Result, error) {
	status, err := reader.Status(ctx, cluster.Row{Kind: guest.Kind(open.Kind), VMID: open.VMID, Node: open.Node})
	if errors.Is(err, cluster.ErrNotExist) {
		return journal.Unknown, nil // moved or gone
	}
	if err != nil {
		return "", fmt.Errorf("read status for step %s: %w", open.Step, err)
	}
	return resultOf(status == want), nil
}
