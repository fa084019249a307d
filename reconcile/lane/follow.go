package lane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// How long the effect of a call is waited for that its task does not cover, and how often it is looked for.
const (
	haPatience       = 5 * time.Minute // the HA manager works in rounds of ten seconds, and a shutdown takes its time on top
	templatePatience = time.Minute
	effectPoll       = 2 * time.Second
)

// errNoEffect says that a task ended well and what it was for did not come about.
var errNoEffect = errors.New("its task ended well, and nothing came of it")

// follow waits for the effect of a call whose task ends before it, because it only asks the HA manager, or whose task nobody names: a
// container becomes a template behind a reply without one. Every other call is done when its task is.
func (w *Worker) follow(ctx context.Context, call cluster.Call, upid string) error {
	if call.Op == cluster.OpTemplate && upid == "" {
		return w.await(ctx, templatePatience, func(ctx context.Context) (bool, error) {
			seen, err := w.Cluster.Observe(ctx, cluster.Row{Kind: call.Kind, VMID: call.VMID, Node: call.Node})
			return seen.Template, err
		})
	}
	if !strings.HasPrefix(cluster.TaskType(upid), "ha") {
		return nil
	}
	want, patience := call.Op.Reaches(), haPatience
	if call.Op == cluster.OpMigrate {
		return w.await(ctx, patience, func(ctx context.Context) (bool, error) { return w.arrived(ctx, call) })
	}
	if want == guest.StatusStopped {
		patience += shutdownTimeout(call)
	}
	return w.await(ctx, patience, func(ctx context.Context) (bool, error) { return w.is(ctx, call, want) })
}

// await looks for an effect until it is there. A look that fails says nothing; errNoEffect says that patience ended.
func (w *Worker) await(ctx context.Context, patience time.Duration, there func(context.Context) (bool, error)) error {
	deadline := time.Now().Add(patience)
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
			return errors.Join(fmt.Errorf("%w within %s", errNoEffect, patience), trouble)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the effect: %w", ctx.Err())
		case <-time.After(effectPoll):
		}
	}
}

// is reports whether the guest is in a run state, wherever it lives by now.
func (w *Worker) is(ctx context.Context, call cluster.Call, want guest.Status) (bool, error) {
	status, err := w.Cluster.Status(ctx, cluster.Row{Kind: call.Kind, VMID: call.VMID, Node: call.Node})
	if errors.Is(err, cluster.ErrNotExist) {
		row, listed, again := w.whereabouts(ctx, call.VMID)
		if again != nil || !listed {
			return false, errors.Join(err, again)
		}
		status, err = w.Cluster.Status(ctx, row)
	}
	return status == want, err
}

// arrived reports whether the guest lives on the node that it was sent to, and nothing moves it any more.
func (w *Worker) arrived(ctx context.Context, call cluster.Call) (bool, error) {
	row, listed, err := w.whereabouts(ctx, call.VMID)
	return listed && row.Node == call.Params["target"] && row.Lock == "", err
}

// whereabouts returns the guest's row of a fresh inventory, whose node and lock are current.
func (w *Worker) whereabouts(ctx context.Context, vmid int) (cluster.Row, bool, error) {
	inventory, err := w.Cluster.Inventory(ctx)
	if err != nil {
		return cluster.Row{}, false, err
	}
	row, listed := inventory.Row(vmid)
	return row, listed, nil
}

func shutdownTimeout(call cluster.Call) time.Duration {
	d, err := time.ParseDuration(call.Params["timeout"] + "s")
	if err != nil {
		return 0
	}
	return d
}
