package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/secret"
)

// conclusion is how a step's calls ended.
type conclusion struct {
	result     journal.Result // "" while nobody can tell
	err        error
	done       int               // calls whose effect is there
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
func (w *Worker) calls(ctx context.Context, world *Basis, id string, step plan.Step, calls []secret.FilledCall) conclusion {
	c := conclusion{}
	end := func(result journal.Result, call cluster.Call, err error) conclusion {
		c.result, c.err = result, fmt.Errorf("%s of %s: %w", call.Op, step.Guest, err)
		return c
	}
	for i, call := range step.Calls {
		if i > 0 {
			if err := w.stillRight(ctx, world, step, call); err != nil {
				return end(journal.Failed, call, err)
			}
		}
		upid, err := w.Cluster.Do(context.WithoutCancel(ctx), calls[i].Call)
		err = calls[i].HideIn(err)
		switch {
		case errors.Is(err, cluster.ErrOutcomeUnknown):
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
		if upid != "" {
			task, err := w.wait(ctx, upid)
			task = calls[i].Hide(task)
			switch {
			case errors.Is(err, cluster.ErrNoTask) || err == nil && task.Lost():
				return w.afterDoubt(ctx, id, cmp.Or(err, errWorkerDied))
			case err != nil:
				return conclusion{err: err}
			case !task.OK():
				return end(journal.Failed, call, cluster.NewTaskError(task))
			}
			c.warned = append(c.warned, task.Warnings...)
		}
		switch err := w.follow(ctx, call, upid); {
		case errors.Is(err, errNoEffect):
			return end(journal.Failed, call, err)
		case err != nil:
			return conclusion{err: err}
		}
		c.done++
		c.give(calls[i].Given)
	}
	c.result = journal.Done
	return c
}

// errWorkerDied says that nobody knows how a task ended: its process went away.
var errWorkerDied = errors.New("its task's process went away without a word")

// stillRight looks again between the calls of a composite, which take time: what was planned must still be wanted, and the guest
// about to be destroyed must still be the one that was planned for.
func (w *Worker) stillRight(ctx context.Context, world *Basis, step plan.Step, call cluster.Call) error {
	if w.superseded(world) {
		return ErrSuperseded
	}
	if call.Op != cluster.OpDestroy {
		return nil
	}
	row, listed := world.row(call.VMID)
	if !listed {
		row = cluster.Row{Kind: call.Kind, VMID: call.VMID, Node: call.Node}
	}
	seen, err := w.Cluster.Observe(ctx, row)
	if err != nil {
		return fmt.Errorf("look again before destroying: %w", err)
	}
	proof := ownership.Weigh(w.Journal.State().Owned[call.VMID], seen)
	doubt := proof.Doubt() // of the guest itself; the step may have another one, which its approval knew
	if doubt != "" && doubt != step.Doubt || proof.Conflict(seen.Kind) != "" || !slices.Equal(guest.Volumes(seen), step.Volumes) {
		return errors.New("the guest is not the one any more that was to be destroyed")
	}
	return nil
}

// afterDoubt looks at once for what became of a call without a believable reply. One without any reply may be waiting for its turn, so that
// nothing to be seen says nothing yet.
func (w *Worker) afterDoubt(ctx context.Context, id string, doubt error) conclusion {
	for _, open := range w.Journal.State().Open {
		if open.Step != id {
			continue
		}
		var late time.Time
		if errors.Is(doubt, cluster.ErrUnanswered) {
			late = open.Time.Add(lateTime)
		}
		result, err := settle(ctx, w.Cluster, open, w.Journal.State().Owned[open.VMID], late)
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

// maxFailedLooks is how often in a row a task may fail to be looked at before its lane lets go. The step stays open, and the next
// turn begins with it.
const maxFailedLooks = 5

// wait waits for a task. A failed look says nothing about the task, so it looks again, but not for ever: other guests need the
// lane.
func (w *Worker) wait(ctx context.Context, upid string) (cluster.Task, error) {
	for failures, delay := 1, time.Second; ; failures, delay = failures+1, 2*delay {
		task, err := w.Cluster.Wait(ctx, upid)
		if err == nil || ctx.Err() != nil || failures == maxFailedLooks || errors.Is(err, cluster.ErrDenied) || errors.Is(err, cluster.ErrNoTask) {
			return task, err
		}
		select {
		case <-ctx.Done():
			return cluster.Task{}, fmt.Errorf("wait for %s: %w", upid, ctx.Err())
		case <-time.After(delay):
		}
	}
}
