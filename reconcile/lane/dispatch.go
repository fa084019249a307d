package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/secret"
)

// errTaskLost is the outcome of a task whose process ended without one.
var errTaskLost = errors.New("the process of its task ended without an outcome")

// dispatch sends the step's calls in order, with their secrets, and waits for the effect of each.
func (w *Worker) dispatch(ctx context.Context, basis *Basis, id string, step plan.Step, calls []secret.FilledCall) conclusion {
	c := conclusion{}
	end := func(result journal.Result, call cluster.Call, err error) conclusion {
		c.result, c.err = result, fmt.Errorf("%s of %s: %w", call.Op, step.Guest, err)
		return c
	}
	for i, call := range step.Calls {
		upid, err := w.cluster.Do(context.WithoutCancel(ctx), calls[i].Call, func(ctx context.Context) error {
			err := w.lastCheck(ctx, basis, step, call)
			c.sent = err == nil && i == len(step.Calls)-1
			return err
		})
		c.sent = c.sent && !errors.Is(err, cluster.ErrNotSent)
		err = calls[i].MaskError(err)
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
			task, err := w.wait(ctx, upid)
			task = calls[i].MaskTask(task)
			switch {
			case errors.Is(err, cluster.ErrNoTask) || err == nil && task.Lost():
				return w.afterDoubt(ctx, id, cmp.Or(err, errTaskLost))
			case err != nil:
				return conclusion{err: err}
			case !task.OK():
				return end(journal.Failed, call, cluster.NewTaskError(task))
			}
			c.warnings = append(c.warnings, task.Warnings...)
		}
		switch err := w.waitForEffect(ctx, call, upid); {
		case errors.Is(err, errNoEffect):
			return end(journal.Failed, call, err)
		case err != nil:
			return conclusion{err: err}
		}
		c.done++
		c.give(calls[i].Fingerprints)
	}
	c.result = journal.Done
	return c
}

// lastCheck decides immediately before a call is sent, after its last wait, whether the call may still be sent. Its epoch must last. Before a
// call that interrupts, disrupts or destroys, the guest is read again, and must still be the one that the step was planned for.
func (w *Worker) lastCheck(ctx context.Context, basis *Basis, step plan.Step, call cluster.Call) error {
	if w.superseded(basis) {
		return epoch.ErrSuperseded
	}
	if !isRisky(step, call) {
		return nil
	}
	row := cluster.Row{Kind: call.Kind, VMID: call.VMID, Node: call.Node} // where the call goes, with whichever guest is there now
	if listed, found := basis.Inventory.Row(call.VMID); found {
		row.Status = listed.Status
	}
	seen, err := observe.ReadGuest(ctx, w.cluster, row, basis.Inventory.Version)
	if err != nil {
		return fmt.Errorf("read the guest again before the call: %w", err)
	}
	if w.superseded(basis) {
		return epoch.ErrSuperseded
	}
	proof := ownership.Compare(w.journal.State().Owned[call.VMID], seen)
	if proof.Conflict(seen.Kind) != "" {
		return errReplaced
	}
	doubt := proof.Doubt() // of the guest alone; the approval of a step covers the step's own doubt
	if call.Op == cluster.OpDestroy && (doubt != "" && doubt != step.Doubt || !slices.Equal(guest.Volumes(seen), step.Volumes)) {
		return errReplaced
	}
	return nil
}

// errReplaced refuses a call to a guest that is not the one that the step was planned for.
var errReplaced = errors.New("the guest is no longer the one that the step was planned for")

// isRisky reports whether a call may interrupt, disrupt or destroy an existing guest.
func isRisky(step plan.Step, call cluster.Call) bool {
	switch {
	case call.Op == cluster.OpCreate:
		return false // Proxmox refuses to create a guest under a vmid that is taken
	case call.Op == cluster.OpDestroy, call.Op.IsHeavy(), call.Op.Reaches() == guest.StatusStopped:
		return true
	}
	return step.Class == guest.Disruptive || step.Class == guest.Destructive
}

// afterDoubt tries to find the outcome of a call whose reply is missing or cannot be used. A call without a reply may still be waiting in
// Proxmox, so the absence of an effect does not prove anything yet.
func (w *Worker) afterDoubt(ctx context.Context, id string, doubt error) conclusion {
	for _, open := range w.journal.State().Open {
		if open.Step != id {
			continue
		}
		var late time.Time
		if errors.Is(doubt, cluster.ErrUnanswered) {
			late = open.Time.Add(lateTime)
		}
		result, err := settle(ctx, w.cluster, open, w.journal.State().Owned[open.VMID], late)
		switch {
		case err != nil:
			return conclusion{err: errors.Join(doubt, err)}
		case result == journal.Done:
			return settled(open, result, nil)
		}
		return settled(open, result, doubt)
	}
	return conclusion{err: doubt}
}
