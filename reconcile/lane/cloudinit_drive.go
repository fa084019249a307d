package lane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// driveWithin bounds how long a step stays open for the cloud-init drive. Then the step has failed; the next start of the guest writes the
// drive in any case.
const driveWithin = time.Hour

// needsDrive reports whether the last call of a configuration step writes the cloud-init drive. Once the configuration is written, nothing
// differs any more and no plan contains that call. It may be repeated, since it writes the present configuration to the drive.
func needsDrive(begun journal.Begun) bool {
	return cluster.Op(begun.Op) == cluster.OpConfig && begun.Detail[detailLast] == string(cluster.OpCloudInit)
}

// writeDrive writes the cloud-init drive that a step still needs, after the task of its configuration if that is known.
func (w *Worker) writeDrive(ctx context.Context, step journal.OpenStep, c conclusion) conclusion {
	if step.UPID != "" {
		if _, err := w.boundedFor(step).Wait(ctx, step.UPID); err != nil && !errors.Is(err, cluster.ErrNoTask) {
			return conclusion{err: err, dispatched: c.dispatched}
		}
	}
	call := cluster.Call{Op: cluster.OpCloudInit, Kind: guest.Kind(step.Kind), Node: step.Node, VMID: step.VMID}
	_, err := w.cluster.Do(ctx, call, w.finishCheck(call))
	outdated := fmt.Errorf("the cloud-init drive of %s %d is outdated: %w", step.Kind, step.VMID, errors.Join(c.err, err))
	switch {
	case err == nil && c.dispatched == 0:
		return c // the next plan shows whether the configuration was written
	case err == nil:
		c.result, c.err = journal.Done, nil
		return c
	case time.Since(w.since(step.Step)) > driveWithin:
		return conclusion{result: journal.Failed, err: outdated, dispatched: c.dispatched, given: c.given}
	default:
		return conclusion{err: outdated, dispatched: c.dispatched}
	}
}
