package lane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/queue"
)

// How long a lane waits for an effect that comes after the task of a call, and how often it looks for the effect.
const (
	haTimeout       = 5 * time.Minute // the HA manager works in rounds of ten seconds; the times of a shutdown and of a move are added
	templateTimeout = time.Minute
	effectPoll      = 2 * time.Second
)

// errNoEffect reports that a task succeeded and its effect did not come.
var errNoEffect = errors.New("its task succeeded and had no effect")

// poll looks for an effect until it is there, and returns errNoEffect after timeout. A failed look does not show whether the effect occurred.
func poll(ctx context.Context, timeout time.Duration, there func(context.Context) (bool, error)) error {
	deadline := time.Now().Add(timeout)
	var trouble error
	for {
		ok, err := there(ctx)
		switch {
		case ok:
			return nil
		case err != nil:
			trouble = err
		}
		if !time.Now().Before(deadline) {
			return errors.Join(fmt.Errorf("%w within %s", errNoEffect, timeout), trouble)
		}
		queue.WithoutSlot(ctx, func() {
			select {
			case <-ctx.Done():
			case <-time.After(effectPoll):
			}
		})
		if ctx.Err() != nil {
			return fmt.Errorf("wait for the effect: %w", ctx.Err())
		}
	}
}

// shutdownTimeout returns the time that a call gives a guest to shut down, 0 if the call names none.
func shutdownTimeout(call cluster.Call) time.Duration {
	d, err := time.ParseDuration(call.Params["timeout"] + "s")
	if err != nil {
		return 0
	}
	return d
}

// waitForEffect waits for the effect of a call that comes after its task: a task of the HA manager only requests the effect, and a container
// becomes a template in a task that the reply does not name. Every other call has its effect when its task ends.
func (w *Worker) waitForEffect(ctx context.Context, call cluster.Call, upid string) error {
	if call.Op == cluster.OpTemplate && upid == "" {
		return poll(ctx, templateTimeout, func(ctx context.Context) (bool, error) {
			seen, err := observe.ReadGuest(ctx, w.cluster, cluster.Row{Kind: call.Kind, VMID: call.VMID, Node: call.Node}, guest.Version{})
			return seen.Template, err
		})
	}
	if !cluster.HARequest(upid) {
		return nil
	}
	want, timeout := call.Op.Reaches(), haTimeout
	if call.Op == cluster.OpMigrate {
		return w.waitForMove(ctx, call, upid, time.Now())
	}
	if want == guest.StatusStopped {
		timeout += shutdownTimeout(call)
	}
	return poll(ctx, timeout, func(ctx context.Context) (bool, error) { return w.hasStatus(ctx, call, want) })
}

// hasStatus reports whether the guest has a run state, on any node.
func (w *Worker) hasStatus(ctx context.Context, call cluster.Call, want guest.Status) (bool, error) {
	status, _, err := w.cluster.Status(ctx, cluster.Row{Kind: call.Kind, VMID: call.VMID, Node: call.Node})
	if errors.Is(err, cluster.ErrNotExist) {
		row, listed, again := w.freshRow(ctx, call.VMID)
		if again != nil || !listed {
			return false, errors.Join(err, again)
		}
		status, _, err = w.cluster.Status(ctx, row)
	}
	return status == want, err
}

// freshRow returns the guest's row of a new inventory. Its node and lock are current; its run state may lag.
func (w *Worker) freshRow(ctx context.Context, vmid int) (cluster.Row, bool, error) {
	inventory, err := w.inventory.Now(ctx)
	if err != nil {
		return cluster.Row{}, false, err
	}
	row, listed := inventory.Row(vmid)
	return row, listed, nil
}
