package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// A configuration step may owe a second call, which writes the guest's cloud-init drive anew. Once the configuration is written nothing
// differs any more, so nobody would plan that call again: the step stays open until it is made. It may be repeated, since it writes
// what the configuration says by then.
const refreshWithin = time.Hour // after that the step has failed; the drive is made anew at the next start anyway

// owesDrive reports whether a step's last call writes the cloud-init drive.
func owesDrive(begun journal.Begun) bool {
	return Op(begun.Op) == OpConfig && begun.Detail[detailLast] == string(OpCloudInit)
}

// refresh makes the call that a step still owes. Upid is that of its configuration, "" where it had no task or none is known.
func (w *worker) refresh(ctx context.Context, begun journal.Begun, upid string, began time.Time, c conclusion) conclusion {
	if c.result == journal.Done || c.result == journal.NotRun {
		return c
	}
	if upid != "" {
		if _, err := w.wait(ctx, upid); err != nil && !errors.Is(err, ErrNoTask) {
			return conclusion{err: err, dispatched: c.dispatched}
		}
	}
	err := errors.New("nothing may be written now")
	if w.world().noWrites == WritesAllowed {
		_, err = w.cluster.Do(context.WithoutCancel(ctx), Call{Op: OpCloudInit, Kind: guest.Kind(begun.Kind), Node: begun.Node, VMID: begun.VMID})
	}
	owing := fmt.Errorf("the cloud-init drive of %s %d is not written anew: %w", begun.Kind, begun.VMID, errors.Join(c.err, err))
	switch {
	case err == nil:
		c.result, c.err = journal.Done, nil
		return c
	case time.Since(began) > refreshWithin:
		return conclusion{result: journal.Failed, err: owing, dispatched: c.dispatched, given: c.given}
	default:
		return conclusion{err: owing, dispatched: c.dispatched}
	}
}
