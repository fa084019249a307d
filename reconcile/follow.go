package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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
func (w *worker) follow(ctx context.Context, call Call, upid string) error {
	if call.Op == OpTemplate && upid == "" {
		return w.await(ctx, templatePatience, func(ctx context.Context) (bool, error) {
			seen, err := w.cluster.Observe(ctx, Row{Kind: call.Kind, VMID: call.VMID, Node: call.Node})
			return seen.Template, err
		})
	}
	if !strings.HasPrefix(taskType(upid), "ha") {
		return nil
	}
	want, patience := guest.StatusRunning, haPatience
	switch call.Op {
	case OpMigrate:
		return w.await(ctx, patience, func(ctx context.Context) (bool, error) { return w.arrived(ctx, call) })
	case OpShutdown, OpStop:
		want, patience = guest.StatusStopped, patience+shutdownTimeout(call)
	case OpCreate, OpConfig, OpResize, OpMove, OpCloudInit, OpPool, OpHAAdd, OpHASet, OpHARemove, OpTemplate, OpStart, OpReboot, OpDestroy:
	}
	return w.await(ctx, patience, func(ctx context.Context) (bool, error) { return w.is(ctx, call, want) })
}

// await looks for an effect until it is there. A look that fails says nothing; errNoEffect says that patience ended.
func (w *worker) await(ctx context.Context, patience time.Duration, there func(context.Context) (bool, error)) error {
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
func (w *worker) is(ctx context.Context, call Call, want guest.Status) (bool, error) {
	status, err := w.cluster.Status(ctx, Row{Kind: call.Kind, VMID: call.VMID, Node: call.Node})
	if errors.Is(err, ErrNotExist) {
		row, listed, again := w.whereabouts(ctx, call.VMID)
		if again != nil || !listed {
			return false, errors.Join(err, again)
		}
		status, err = w.cluster.Status(ctx, row)
	}
	return status == want, err
}

// arrived reports whether the guest lives on the node that it was sent to, and nothing moves it any more.
func (w *worker) arrived(ctx context.Context, call Call) (bool, error) {
	row, listed, err := w.whereabouts(ctx, call.VMID)
	return listed && row.Node == call.Params["target"] && row.Lock == "", err
}

// whereabouts returns the guest's row of a fresh inventory, whose node and lock are current.
func (w *worker) whereabouts(ctx context.Context, vmid int) (Row, bool, error) {
	inventory, err := w.cluster.Inventory(ctx)
	if err != nil {
		return Row{}, false, err
	}
	row, listed := inventory.Row(vmid)
	return row, listed, nil
}

func shutdownTimeout(call Call) time.Duration {
	d, err := time.ParseDuration(call.Params["timeout"] + "s")
	if err != nil {
		return 0
	}
	return d
}

// taskType returns the worker type within a UPID, "qmstart"; "" where there is none.
func taskType(upid string) string {
	if parts := strings.Split(upid, ":"); len(parts) > 5 && parts[0] == "UPID" {
		return parts[5]
	}
	return ""
}
