package lane

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/volumes"
)

// checkVolumes refuses a step that acts on volumes of other guests, or whose users are not known. Each call of the step is checked for the whole step,
// so that no guest is stopped for a destroy that is refused. A step that acts on no such volume costs nothing.
func (w *Worker) checkVolumes(ctx context.Context, step plan.Step) error {
	return w.checkVolumesSince(ctx, step, time.Time{})
}

// checkVolumesSince is checkVolumes by readings that began after a time.
func (w *Worker) checkVolumesSince(ctx context.Context, step plan.Step, since time.Time) error {
	if len(step.Touches) == 0 {
		return nil
	}
	owned := w.journal.State().Owned
	return w.volumes.Check(ctx, volumes.Request{
		Guest: step.Guest, Op: step.Op, Node: step.Calls[len(step.Calls)-1].Node, Touches: step.Touches,
		Owned: func(vmid int) bool { _, ours := owned[vmid]; return ours }, Since: since,
	})
}

// isCovered reports whether a call acts on no other volumes of the guest as seen now than on those of its step, which were checked.
func isCovered(step plan.Step, call cluster.Call, seen guest.Observed) bool {
	return !slices.ContainsFunc(cluster.Touches(call, seen), func(t cluster.Touch) bool { return !slices.Contains(step.Touches, t) })
}

// holdAgain refuses a step whose last try was refused because of its volumes, without journaling an intent each time.
func (w *Worker) holdAgain(ctx context.Context, step plan.Step) error {
	w.mu.Lock()
	before := w.refused[step.Guest.VMID]
	w.mu.Unlock()
	if !before {
		return nil
	}
	if err := w.checkVolumes(ctx, step); err != nil {
		return fmt.Errorf("%s of %s: %w", step.Op, step.Guest, err)
	}
	return nil
}

// noteVolumes ends what the volumes of a step were reserved for, and remembers whether the step was refused because of them.
func (w *Worker) noteVolumes(vmid int, err error) {
	if w.hasOpen(vmid) {
		return // its call may still act
	}
	w.volumes.Written(vmid)
	_, _, refused := volumes.Refusal(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	if refused {
		w.refused[vmid] = true
	} else {
		delete(w.refused, vmid)
	}
}

// hasOpen reports whether a step of the guest is open in the journal.
func (w *Worker) hasOpen(vmid int) bool {
	for _, open := range w.journal.State().Open {
		if open.VMID == vmid {
			return true
		}
	}
	return false
}
