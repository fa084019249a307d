package lane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/reconcile/cluster"
)

// maxFailedWaits is how many requests for a task may fail in a row before the lane gives up. The step stays open, and the guest's next turn
// begins with it.
const maxFailedWaits = 5

// wait waits for the end of the task of a call that was sent now. A failed request does not show the state of the task, so it is repeated, with a
// bound: other guests need the lane.
func (w *Worker) wait(ctx context.Context, call cluster.Call, upid string) (cluster.Task, error) {
	reader := w.bounded(call)
	for failures, delay := 1, time.Second; ; failures, delay = failures+1, 2*delay {
		task, err := reader.Wait(ctx, upid)
		if err == nil || ctx.Err() != nil || failures == maxFailedWaits || errors.Is(err, cluster.ErrDenied) || errors.Is(err, cluster.ErrNoTask) ||
			HangingTask(err) != nil {
			return task, err
		}
		select {
		case <-ctx.Done():
			return cluster.Task{}, fmt.Errorf("wait for %s: %w", upid, ctx.Err())
		case <-time.After(delay):
		}
	}
}

// clockSkew is how far the clocks of the agent and of a node may differ in a search for a lost task.
const clockSkew = 5 * time.Minute
