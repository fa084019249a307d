package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
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
		if upid != "" {
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
		}
		switch err := w.follow(ctx, call, upid); {
		case errors.Is(err, errNoEffect):
			return end(journal.Failed, call, err)
		case err != nil:
			return conclusion{err: err}
		}
		c.done++
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
	proof := weigh(w.journal.State().Owned[call.VMID], seen)
	doubt := proof.doubt() // of the guest itself; the step may have another one, which its approval knew
	if doubt != "" && doubt != step.Doubt || proof.conflict(seen.Kind) != "" || !slices.Equal(guest.Volumes(seen), step.Volumes) {
		return errors.New("the guest is not the one any more that was to be destroyed")
	}
	return nil
}

// afterDoubt looks at once for what became of a call without a believable reply. One without any reply may be waiting for its turn, so that
// nothing to be seen says nothing yet.
func (w *worker) afterDoubt(ctx context.Context, id string, doubt error) conclusion {
	for _, open := range w.journal.State().Open {
		if open.Step != id {
			continue
		}
		var late time.Time
		if errors.Is(doubt, ErrUnanswered) {
			late = open.Time.Add(lateTime)
		}
		result, err := settle(ctx, w.cluster, open, w.journal.State().Owned[open.VMID], late)
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
