package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// A restart is two tasks: Proxmox shuts the guest down in the first one and starts it in a second one of its own, which may fail or never
// begin. The agent stopped the guest, so it makes sure that the guest runs again.
const (
	startTimeout  = 45 * time.Second // within it the second task must at least have begun
	restartWithin = time.Hour        // after it, a person may have stopped the guest on purpose
)

// finishRestart makes sure that a guest runs again after the agent restarted it. The step stays open until then, so that a restart of the
// agent does not forget it.
func (w *Worker) finishRestart(ctx context.Context, step journal.OpenStep, c conclusion) conclusion {
	reboot := cluster.Call{Op: cluster.OpReboot, Kind: guest.Kind(step.Kind), Node: step.Node, VMID: step.VMID}
	err := w.waitUntilRunning(ctx, reboot)
	switch {
	case err == nil:
		return c
	case !errors.Is(err, errNoEffect), HangingTask(err) != nil:
		return conclusion{err: err, dispatched: c.dispatched}
	}
	down := fmt.Errorf("%s %d does not run after its restart: %w", reboot.Kind, reboot.VMID, errors.Join(c.err, err))
	rebooted, started, err := w.startedSince(ctx, reboot, step)
	basis := w.basis()
	switch forbidden := basis.finishForbiddenBy(cluster.OpStart, reboot.VMID, time.Now()); {
	case err != nil:
		return conclusion{err: errors.Join(down, err), dispatched: c.dispatched}
	case started, c.result == journal.Unknown && !rebooted:
		return c // it was shut down after its restart, or instead of it
	case forbidden != "":
		return conclusion{result: journal.Failed, err: fmt.Errorf("%w; its manifest has %s", down, forbidden), dispatched: c.dispatched}
	case time.Since(w.since(step.Step)) > restartWithin:
		return conclusion{result: journal.Failed, err: down, dispatched: c.dispatched}
	case basis.NoWrites != reason.WritesAllowed:
		return conclusion{err: fmt.Errorf("%w; writing is not allowed now: %s", down, basis.Why), dispatched: c.dispatched}
	}
	start := cluster.Call{Op: cluster.OpStart, Kind: reboot.Kind, Node: reboot.Node, VMID: reboot.VMID}
	if row, listed, err := w.freshRow(ctx, reboot.VMID); err == nil && listed {
		start.Node = row.Node // the HA manager may have recovered it on another node
	}
	if err := w.start(ctx, step.Step, start); err != nil {
		return conclusion{err: errors.Join(down, err), dispatched: c.dispatched}
	}
	c.result, c.err = journal.Done, nil
	return c
}

// startedSince reports whether there was a restart of the guest since a step began, and whether the guest was started or stopped after the newest one,
// by any user. If it was, the guest was stopped on purpose.
func (w *Worker) startedSince(ctx context.Context, reboot cluster.Call, step journal.OpenStep) (rebooted, started bool, err error) {
	typesOf := func(op cluster.Op) []string { return cluster.Call{Op: op, Kind: reboot.Kind}.TaskTypes() }
	reboots, starts := reboot.TaskTypes(), typesOf(cluster.OpStart)
	types := slices.Concat(reboots, starts)
	if !w.begunHere(step.Step) { // nobody knows how long ago that was
		starts = slices.Concat(starts, typesOf(cluster.OpStop), typesOf(cluster.OpShutdown))
		types = slices.Concat(reboots, starts)
	}
	tasks, err := w.cluster.Tasks(ctx, cluster.TaskQuery{Node: reboot.Node, VMID: reboot.VMID, Types: types, Since: tasksSince(step)})
	if err != nil {
		return false, false, fmt.Errorf("list tasks of %d: %w", reboot.VMID, err)
	}
	at := slices.IndexFunc(tasks, func(t cluster.Task) bool { return slices.Contains(reboots, t.Type) && isOfStep(step, t) })
	if at < 0 {
		return false, false, nil
	}
	return true, slices.ContainsFunc(tasks, func(t cluster.Task) bool {
		return slices.Contains(starts, t.Type) && t.OK() && !t.Start.Before(tasks[at].Start)
	}), nil
}

// start starts the guest and waits until it runs.
func (w *Worker) start(ctx context.Context, id string, start cluster.Call) error {
	upid, err := w.cluster.Do(ctx, start, w.finishCheck(start))
	if err != nil {
		return fmt.Errorf("start it: %w", err)
	}
	if err := w.append(ctx, journal.Dispatched{Step: id, UPID: upid}); err != nil {
		return err
	}
	task, err := w.wait(ctx, start, upid)
	switch {
	case err != nil:
		return fmt.Errorf("start it: %w", err)
	case !task.OK():
		return fmt.Errorf("start it: %w", cluster.NewTaskError(task))
	}
	return w.waitForEffect(ctx, start, upid)
}

// waitUntilRunning waits until the guest runs: up to startTimeout without a start task, and for as long as a start task may run.
func (w *Worker) waitUntilRunning(ctx context.Context, call cluster.Call) error {
	reader := w.bounded(cluster.Call{Op: cluster.OpStart})
	return poll(ctx, startTimeout, func(ctx context.Context) (bool, error) {
		running, err := w.hasStatus(ctx, call, guest.StatusRunning)
		if running || err != nil {
			return running, err
		}
		upid, err := w.startTask(ctx, call)
		if err != nil || upid == "" {
			return false, err
		}
		if _, err := reader.Wait(ctx, upid); err != nil {
			return false, fmt.Errorf("wait for the start of %d: %w", call.VMID, err)
		}
		return w.hasStatus(ctx, call, guest.StatusRunning)
	})
}

// startTask returns the UPID of a running task that starts the guest, "" if there is none.
func (w *Worker) startTask(ctx context.Context, call cluster.Call) (string, error) {
	types := cluster.Call{Op: cluster.OpStart, Kind: call.Kind}.TaskTypes()
	tasks, err := w.cluster.Tasks(ctx, cluster.TaskQuery{Node: call.Node, VMID: call.VMID, Types: types})
	if err != nil {
		return "", fmt.Errorf("list tasks of %d: %w", call.VMID, err)
	}
	if i := slices.IndexFunc(tasks, func(t cluster.Task) bool { return t.Running }); i >= 0 {
		return tasks[i].UPID, nil
	}
	return "", nil
}
