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
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/ownership"
)

// lateTime is how long after the beginning of its step a call without a reply may still have its effect. A node has few workers: a call
// waits for one of them, and the proxy in front of them gives up long before the call does.
const lateTime = 10 * time.Minute

// taskLag is how much earlier than its step a task may have begun, by the node's clock, and still count as a task of the step.
const taskLag = 10 * time.Second

// refusedTime is how long after the end of the process that may have sent a call nothing is done that would remove what Proxmox refuses the late call
// for. Proxmox's proxy stops to wait after 30 seconds.
const refusedTime = 40 * time.Second

// createTime is how long a guest without a known task may be partly created before the create counts as failed.
const createTime = 10 * time.Minute

// settle finds the outcome of a step whose outcome is not journaled: from its task, from the task list and from the guest, in this order. It
// repeats no call. An error means that it could not look, or that there is nothing to see yet; the step stays open.
func settle(ctx context.Context, reader cluster.Reader, open journal.OpenStep, owned journal.Owned, d doubt) (journal.Result, error) {
	if open.Refused {
		if open.Dispatched > 0 {
			return journal.Failed, nil
		}
		return journal.NotRun, nil
	}
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
		return journal.Done, nil // Proxmox executed the last call before it replied
	}
	ran := true
	if inDoubt(open) {
		var err error
		if ran, err = waitForLostTask(ctx, reader, open); err != nil {
			return "", err
		}
	}
	switch result, err := fromGuest(ctx, reader, open, owned, ran, d.since); {
	case err != nil || result != "":
		return result, err
	case !inDoubt(open) || d.late.IsZero():
		return withoutEffect(open), nil
	case d.repeats:
		return journal.NotRun, nil
	case time.Now().Before(d.late):
		return "", fmt.Errorf("%s of %s/%s: there is no effect, and Proxmox may still execute the call; it gets no other step until %s: %w",
			open.Op, open.Kind, open.Name, d.late.UTC().Format(time.TimeOnly+" UTC"), cluster.ErrUnanswered)
	case open.Dispatched+1 < calls(open):
		return withoutEffect(open), nil // the unanswered call only prepared the main call of the step, which was never sent
	}
	return journal.Unknown, nil
}

// inDoubt reports whether it is not known if Proxmox has accepted the last call of the step.
func inDoubt(open journal.OpenStep) bool { return open.Dispatched == 0 || partial(open) }

// doubt describes what is not known about the last call of a step. The zero doubt is that of a call that got a reply, even one that cannot be used.
type doubt struct {
	since   time.Time // when the call was sent at the latest, by the clock of this process
	late    time.Time // until when a call without a reply may still have its effect; zero if every call got a reply
	repeats bool      // the call may be made again, since Proxmox refuses a late one
}

// doubtAbout returns the doubt about the last call of a step that got no reply. The call is made again only if the process that may have sent it has
// ended: most likely it never was sent. In the same process it was sent, and a repetition would wait behind it.
func (w *Worker) doubtAbout(open journal.OpenStep) doubt {
	since := w.since(open.Step)
	return doubt{
		since: since, late: since.Add(lateTime),
		repeats: !w.begunHere(open.Step) && open.Detail[detailOrder] == "" && cluster.Op(open.Op).Late() == cluster.LateRefused && calls(open) == 1,
	}
}

// withoutEffect returns the outcome of a step whose last call did not change the guest.
func withoutEffect(open journal.OpenStep) journal.Result {
	switch op := cluster.Op(open.Op); {
	case op == cluster.OpDestroy && open.Dispatched > 0:
		return journal.Failed // the calls before it stopped or unprotected the guest
	case op == cluster.OpMigrate, op == cluster.OpTemplate:
		return journal.Unknown // the next plan shows it
	}
	return journal.NotRun
}

// calls returns how many calls the step makes, 0 if the journal does not have the number.
func calls(open journal.OpenStep) int {
	n, err := strconv.Atoi(open.Detail[detailCalls])
	if err != nil {
		return 0
	}
	return n
}

// settled returns the conclusion of a step whose outcome was found later. Its last call may have been sent once all calls before were accepted.
func settled(open journal.OpenStep, result journal.Result, err error) conclusion {
	return conclusion{result: result, err: err, dispatched: open.Dispatched, task: open.UPID, sent: open.Dispatched+1 >= calls(open), lifted: lifts(open.Begun), refused: open.Refused || result == journal.Failed}
}

// partial reports whether the step has calls that are not known to be dispatched.
func partial(open journal.OpenStep) bool { return open.Dispatched < calls(open) }

func taskResult(task cluster.Task) journal.Result {
	if task.OK() {
		return journal.Done
	}
	return journal.Failed
}

// waitForLostTask waits for a running task that the step's call may have started before its reply was lost. It reports whether there is a
// task, running or ended, that began with the step and not before it. The guest shows the effect of an ended task.
func waitForLostTask(ctx context.Context, reader cluster.Reader, open journal.OpenStep) (bool, error) {
	if len(open.TaskTypes) == 0 {
		return false, nil
	}
	tasks, err := reader.Tasks(ctx, cluster.TaskQuery{Node: open.Node, VMID: open.TaskVMID, ID: open.TaskID, Types: open.TaskTypes, Since: tasksSince(open)})
	if err != nil {
		return false, fmt.Errorf("list tasks for step %s: %w", open.Step, err)
	}
	if i := slices.IndexFunc(tasks, func(t cluster.Task) bool { return t.Running }); i >= 0 {
		if _, err := reader.Wait(ctx, tasks[i].UPID); err != nil {
			return false, fmt.Errorf("wait for task of step %s: %w", open.Step, err)
		}
	}
	return slices.ContainsFunc(tasks, func(t cluster.Task) bool { return isOfStep(open, t) }), nil
}

// fromGuest derives the outcome from the guest. Ran reports whether the step's last call has a task. It returns "" if the guest shows no
// effect, and Unknown for an operation without an unmistakable effect. The next plan is safe then: it starts from the present state, and
// Proxmox refuses a late call because of its digest, or the late call has no further effect.
func fromGuest(ctx context.Context, reader cluster.Reader, open journal.OpenStep, owned journal.Owned, ran bool, since time.Time) (journal.Result, error) {
	op := cluster.Op(open.Op)
	if !ran && op.LeavesTask() {
		return "", nil // without a task it was not executed
	}
	if op.IsAboutFile() {
		return fileResult(ctx, reader, open)
	}
	if op.IsObject() {
		return objectResult(ctx, reader, open)
	}
	exists, err := reader.Exists(ctx, open.VMID)
	if err != nil {
		return "", fmt.Errorf("ask for vmid %d of step %s: %w", open.VMID, open.Step, err)
	}
	switch {
	case op == cluster.OpCreate && !exists:
		return "", nil
	case op == cluster.OpCreate:
		return createResult(ctx, reader, open, owned, since)
	case op == cluster.OpDestroy:
		return resultOf(!exists), nil
	case op == cluster.OpReboot:
		return journal.Failed, nil // finishRestart checks that the guest runs; the next plan shows what is still pending
	case op.Reaches() != "":
		return runStateResult(ctx, reader, open, op.Reaches())
	}
	return journal.Unknown, nil
}

// createResult derives the outcome of a create from the guest that has its vmid now: the wanted guest, a partly created one, or another guest
// that got the vmid meanwhile.
func createResult(ctx context.Context, reader cluster.Reader, open journal.OpenStep, owned journal.Owned, since time.Time) (journal.Result, error) {
	seen, err := observe.ReadGuest(ctx, reader, cluster.Row{Kind: guest.Kind(open.Kind), VMID: open.VMID, Node: open.Node}, guest.Version{})
	switch proof := ownership.Compare(owned, seen); {
	case errors.Is(err, cluster.ErrNotExist), errors.Is(err, cluster.ErrDenied):
		return journal.Unknown, nil // it has another kind, is on another node, or the token may not read it
	case err != nil:
		return "", fmt.Errorf("read guest of step %s: %w", open.Step, err)
	case cluster.PartlyCreated(seen) && time.Since(since) < createTime:
		return "", fmt.Errorf("%w: %s of step %s is still being created, or is partly created (lock: %s)", cluster.ErrLocked, open.Name, open.Step, seen.Lock)
	case cluster.PartlyCreated(seen):
		return journal.Failed, nil
	case proof.HasTag || proof.IsNew():
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
	status, _, err := reader.Status(ctx, cluster.Row{Kind: guest.Kind(open.Kind), VMID: open.VMID, Node: open.Node})
	if errors.Is(err, cluster.ErrNotExist) {
		return journal.Unknown, nil // it moved or is gone
	}
	if err != nil {
		return "", fmt.Errorf("read status for step %s: %w", open.Step, err)
	}
	return resultOf(status == want), nil
}
