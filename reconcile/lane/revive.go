package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// A reboot is two tasks: Proxmox shuts the guest down in the first one and starts it in a second one of its own, which may fail or never
// begin. The agent took the guest down, so it sees to it that it comes back.
const (
	revivePatience = 45 * time.Second // until the second task must at least have begun
	reviveWithin   = time.Hour        // after that, somebody may want the guest to be down
)

// revive sees to it that a guest runs again after the agent's reboot. The step stays open until it does, so that a start of the
// agent meanwhile forgets nothing.
func (w *Worker) revive(ctx context.Context, step journal.OpenStep, c conclusion) conclusion {
	reboot := cluster.Call{Op: cluster.OpReboot, Kind: guest.Kind(step.Kind), Node: step.Node, VMID: step.VMID}
	err := w.waitUntilRunning(ctx, reboot)
	switch {
	case err == nil:
		return c
	case !errors.Is(err, errNoEffect):
		return conclusion{err: err, dispatched: c.dispatched}
	}
	down := fmt.Errorf("%s %d stays down after its restart: %w", reboot.Kind, reboot.VMID, errors.Join(c.err, err))
	rebooted, back, err := w.cameBack(ctx, reboot, step.Time)
	world := w.World()
	switch why := world.startForbiddenBy(reboot.VMID, time.Now()); {
	case err != nil:
		return conclusion{err: errors.Join(down, err), dispatched: c.dispatched}
	case back, c.result == journal.Unknown && !rebooted:
		return c // somebody shut it down since, or instead
	case why != "":
		return conclusion{result: journal.Failed, err: fmt.Errorf("%w; its manifest says %s", down, why), dispatched: c.dispatched}
	case time.Since(step.Time) > reviveWithin:
		return conclusion{result: journal.Failed, err: down, dispatched: c.dispatched}
	case world.NoWrites != gate.WritesAllowed:
		return conclusion{err: fmt.Errorf("%w; nothing may be written now: %s", down, world.Why), dispatched: c.dispatched}
	}
	start := cluster.Call{Op: cluster.OpStart, Kind: reboot.Kind, Node: reboot.Node, VMID: reboot.VMID}
	if row, listed, err := w.whereabouts(ctx, reboot.VMID); err == nil && listed {
		start.Node = row.Node // the HA manager may have recovered it elsewhere
	}
	if err := w.startAgain(ctx, step.Step, start); err != nil {
		return conclusion{err: errors.Join(down, err), dispatched: c.dispatched}
	}
	c.result, c.err = journal.Done, nil
	return c
}

// cameBack reports whether there was a reboot at all, and whether the guest was started after its newest one, by whomever: that it is
// down now is somebody's wish.
func (w *Worker) cameBack(ctx context.Context, reboot cluster.Call, began time.Time) (rebooted, back bool, err error) {
	reboots, starts := reboot.TaskTypes(), cluster.Call{Op: cluster.OpStart, Kind: reboot.Kind}.TaskTypes()
	tasks, err := w.Cluster.Tasks(ctx, cluster.TaskQuery{
		Node: reboot.Node, VMID: reboot.VMID, Types: slices.Concat(reboots, starts), Since: began.Add(-clockSkew),
	})
	if err != nil {
		return false, false, fmt.Errorf("list tasks of %d: %w", reboot.VMID, err)
	}
	at := slices.IndexFunc(tasks, func(t cluster.Task) bool { return slices.Contains(reboots, t.Type) })
	if at < 0 {
		return false, false, nil
	}
	return true, slices.ContainsFunc(tasks, func(t cluster.Task) bool {
		return slices.Contains(starts, t.Type) && t.OK() && !t.Start.Before(tasks[at].Start)
	}), nil
}

// startAgain starts the guest and waits until it runs.
func (w *Worker) startAgain(ctx context.Context, id string, start cluster.Call) error {
	upid, err := w.Cluster.Do(context.WithoutCancel(ctx), start)
	if err != nil {
		return fmt.Errorf("start it: %w", err)
	}
	if err := w.append(ctx, journal.Dispatched{Step: id, UPID: upid}); err != nil {
		return err
	}
	task, err := w.wait(ctx, upid)
	switch {
	case err != nil:
		return fmt.Errorf("start it: %w", err)
	case !task.OK():
		return fmt.Errorf("start it: %w", cluster.NewTaskError(task))
	}
	return w.follow(ctx, start, upid)
}

// waitUntilRunning waits until the guest runs: for a while by itself, and for as long as a task starts it.
func (w *Worker) waitUntilRunning(ctx context.Context, call cluster.Call) error {
	return w.await(ctx, revivePatience, func(ctx context.Context) (bool, error) {
		up, err := w.is(ctx, call, guest.StatusRunning)
		if up || err != nil {
			return up, err
		}
		upid, err := w.startingTask(ctx, call)
		if err != nil || upid == "" {
			return false, err
		}
		if _, err := w.Cluster.Wait(ctx, upid); err != nil {
			return false, fmt.Errorf("wait for the start of %d: %w", call.VMID, err)
		}
		return w.is(ctx, call, guest.StatusRunning)
	})
}

// startingTask returns the UPID of a running task that starts the guest, "" where there is none.
func (w *Worker) startingTask(ctx context.Context, call cluster.Call) (string, error) {
	types := cluster.Call{Op: cluster.OpStart, Kind: call.Kind}.TaskTypes()
	tasks, err := w.Cluster.Tasks(ctx, cluster.TaskQuery{Node: call.Node, VMID: call.VMID, Types: types, Since: time.Now().Add(-clockSkew)})
	if err != nil {
		return "", fmt.Errorf("list tasks of %d: %w", call.VMID, err)
	}
	if i := slices.IndexFunc(tasks, func(t cluster.Task) bool { return t.Running }); i >= 0 {
		return tasks[i].UPID, nil
	}
	return "", nil
}
