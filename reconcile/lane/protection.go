package lane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// A step that lifts the protection of its guest ends with a destroyed or a protected guest. The intent says so before the call that lifts, and the step stays
// open until then: nothing else is done with the guest, and for plans and approvals it counts as protected.

// detailUnprotected is the key of journal.Begun.Detail with the fingerprint of the guest's configuration before a step that lifts the protection.
const detailUnprotected = "unprotected"

// errProtected refuses a call that the protection of the guest stands against, because it was set after the step was planned.
var errProtected = errors.New("the guest was protected after the step was planned")

// errChanged refuses the call that a lift was made for.
var errChanged = fmt.Errorf("%w: the configuration has changed since the protection was lifted", cluster.ErrConflict)

// noteLift adds to the intent of a step that lifts the protection what its end needs, also after a restart of the agent.
func noteLift(begun journal.Begun, step plan.Step, seen guest.Observed) {
	if step.Lifts() {
		begun.Detail[detailProtected], begun.Detail[detailUnprotected] = "1", fingerprintOf(seen)
	}
}

// lifts reports whether a step lifts the protection of its guest for its calls. A rollback does not.
func lifts(begun journal.Begun) bool {
	return begun.Detail[detailProtected] != "" && begun.Detail[detailOrder] == ""
}

// fingerprintOf identifies the configuration of a guest, without its protection.
func fingerprintOf(seen guest.Observed) string {
	keys := maps.Clone(seen.Keys)
	delete(keys, "protection")
	text, _ := json.Marshal(keys) // marshalling texts and a map of them cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// checkProtection refuses a call to a guest that was protected after its step was planned, or again after the step has lifted the protection. Proxmox would
// refuse to destroy the guest, but not to stop it before.
func checkProtection(step plan.Step, call cluster.Call, seen guest.Observed) error {
	isNew := step.IgnoresNewProtection() || !step.Protected && plan.CarriesOutRemovals(step, seen)
	if seen.IsProtected() && (isNew || step.Lifts() && !plan.IsLift(call)) {
		return errProtected
	}
	return nil
}

// afterLift returns a later call of a step that has lifted the protection with the digest of the present configuration, from which nothing but the protection
// may differ until the step has changed it.
func (w *Worker) afterLift(ctx context.Context, basis *Basis, begun journal.Begun, call cluster.Call) (cluster.Call, error) {
	seen, proof, err := w.readAgain(ctx, basis, cluster.Row{Kind: call.Kind, VMID: call.VMID, Node: call.Node})
	switch {
	case err != nil:
		return call, err
	case proof.Conflict(seen.Kind) != "":
		return call, errReplaced
	case !plan.IsProtect(call) && seen.IsProtected():
		return call, errProtected
	case !plan.IsProtect(call) && fingerprintOf(seen) != begun.Detail[detailUnprotected]:
		return call, errChanged
	}
	call.Digest = seen.Digest
	return call, nil
}

// protectAgain protects the guest of a step that has lifted the protection, or may have, and did not destroy it. The step stays open until that is done,
// without a limit: a lock of the guest is waited for. If the reading shows that the step changed nothing else, it had no effect and spends no approval.
func (w *Worker) protectAgain(ctx context.Context, step journal.OpenStep, c conclusion) conclusion {
	seen, present, err := w.readLifted(ctx, step)
	switch {
	case err != nil:
		return conclusion{err: errors.Join(c.err, err), dispatched: c.dispatched}
	case !present:
		return c
	}
	if !seen.IsProtected() {
		err = w.protect(ctx, seen)
	} else if late := w.since(step.Step).Add(lateTime); c.dispatched == 0 && c.result != journal.NotRun && time.Now().Before(late) {
		err = fmt.Errorf("a call without a reply may still lift the protection; the guest gets no other step until %s: %w", late.UTC().Format(time.TimeOnly+" UTC"), cluster.ErrUnanswered)
	}
	if err != nil {
		return conclusion{err: errors.Join(c.err, fmt.Errorf("protect %s %d again: %w", step.Kind, step.VMID, err)), dispatched: c.dispatched}
	}
	// Proxmox refuses a call that may still be on its way: to destroy a protected guest, and to write a configuration that has changed since.
	switch unchanged := fingerprintOf(seen) == step.Detail[detailUnprotected]; {
	case cluster.Op(step.Op) == cluster.OpDestroy && c.result == journal.Unknown:
		c.result = journal.Failed
	case cluster.Op(step.Op) == cluster.OpDestroy:
	case c.result == journal.Unknown && unchanged:
		c.result = journal.NotRun
	case c.result == journal.Unknown && c.dispatched > 1, c.done > 1:
		c.result, c.err, c.dispatched = journal.Done, nil, calls(step) // only the last call was missing
	}
	return c
}

// readLifted reads the guest of a step that has lifted the protection, and whether it is there and the agent's.
func (w *Worker) readLifted(ctx context.Context, step journal.OpenStep) (guest.Observed, bool, error) {
	row := cluster.Row{Kind: guest.Kind(step.Kind), VMID: step.VMID, Node: step.Node}
	seen, err := observe.ReadGuest(ctx, w.cluster, row, w.basis().Inventory.Version)
	if errors.Is(err, cluster.ErrNotExist) { // it is gone, or the HA manager has moved it
		fresh, listed, listErr := w.freshRow(ctx, step.VMID)
		if listErr != nil || !listed || fresh.Kind != row.Kind || fresh.Node == row.Node {
			return seen, false, listErr
		}
		seen, err = observe.ReadGuest(ctx, w.cluster, fresh, w.basis().Inventory.Version)
	}
	if err != nil {
		return seen, false, fmt.Errorf("read %s %d after its protection was lifted: %w", step.Kind, step.VMID, err)
	}
	owned, isOwned := w.journal.State().Owned[step.VMID]
	return seen, isOwned && ownership.Compare(owned, seen).Conflict(seen.Kind) == "", nil
}

// protect sets the protection of a guest as it was read.
func (w *Worker) protect(ctx context.Context, seen guest.Observed) error {
	return w.putRight(ctx, seen, plan.ProtectCall(seen))
}

// putRight makes a call to the configuration of a guest that ends a step.
func (w *Worker) putRight(ctx context.Context, seen guest.Observed, call cluster.Call) error {
	if seen.Lock != "" {
		return fmt.Errorf("%w (%s)", cluster.ErrLocked, seen.Lock)
	}
	basis := w.basis()
	upid, err := w.cluster.Do(ctx, call, func(ctx context.Context) error {
		switch {
		case basis.NoWrites != reason.WritesAllowed:
			return fmt.Errorf("%w: %s", cluster.ErrWritesStopped, basis.Why)
		case w.superseded(basis):
			return epoch.ErrSuperseded // the step stays open, and the call is made under the next basis
		}
		return w.confirmWriter(ctx, 0)
	})
	if err != nil || upid == "" {
		return err
	}
	task, err := w.wait(ctx, call, upid)
	if err == nil && !task.OK() {
		err = cluster.NewTaskError(task)
	}
	return err
}
