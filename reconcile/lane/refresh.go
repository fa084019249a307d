package lane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// A configuration step may owe a second call, which writes the guest's cloud-init drive anew. Once the configuration is written nothing
// differs any more, so nobody would plan that call again: the step stays open until it is made. It may be repeated, since it writes
// what the configuration says by then.
const refreshWithin = time.Hour // after that the step has failed; the drive is made anew at the next start anyway

// owesDrive reports whether a step's last call writes the cloud-init drive.
func owesDrive(begun journal.Begun) bool {
	return cluster.Op(begun.Op) == cluster.OpConfig && begun.Detail[detailLast] == string(cluster.OpCloudInit)
}

// refresh makes the call that a step still owes, once the task of its configuration has ended where one is known.
func (w *Worker) refresh(ctx context.Context, step journal.OpenStep, c conclusion) conclusion {
	if step.UPID != "" {
		if _, err := w.wait(ctx, step.UPID); err != nil && !errors.Is(err, cluster.ErrNoTask) {
			return conclusion{err: err, dispatched: c.dispatched}
		}
	}
	err := errors.New("nothing may be written now")
	if w.World().NoWrites == gate.WritesAllowed {
		_, err = w.Cluster.Do(context.WithoutCancel(ctx), cluster.Call{Op: cluster.OpCloudInit, Kind: guest.Kind(step.Kind), Node: step.Node, VMID: step.VMID})
	}
	owing := fmt.Errorf("the cloud-init drive of %s %d is not written anew: %w", step.Kind, step.VMID, errors.Join(c.err, err))
	switch {
	case err == nil && c.dispatched == 0:
		return c // whether the configuration was written, the next plan tells
	case err == nil:
		c.result, c.err = journal.Done, nil
		return c
	case time.Since(step.Time) > refreshWithin:
		return conclusion{result: journal.Failed, err: owing, dispatched: c.dispatched, given: c.given}
	default:
		return conclusion{err: owing, dispatched: c.dispatched}
	}
}
