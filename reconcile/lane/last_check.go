package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/writer"
)

// lastCheck decides immediately before a call is sent, after its last wait, whether the call may still be sent. Its epoch must last, and the signers of
// what its step does may touch what the step touches. No other guest may use the volumes on which its step acts. Before a call that interrupts, disrupts
// or destroys, or that Proxmox would also carry out on another guest, the guest is read again, and must still be the one that the step was planned for.
func (w *Worker) lastCheck(ctx context.Context, basis *Basis, step plan.Step, call cluster.Call) error {
	if w.superseded(basis) {
		return epoch.ErrSuperseded
	}
	if err := w.checkOpenDeletions(basis, call); err != nil {
		return err
	}
	if err := w.checkScope(ctx, basis, step); err != nil {
		return err
	}
	if step.Former != nil {
		return w.lastCheckFormer(ctx, basis, step, call)
	}
	if err := w.checkVolumes(ctx, step); err != nil {
		return err
	}
	recent := writer.Recent
	if call.Op == cluster.OpCreate || call.Op == cluster.OpObjectAdd || isRisky(step, call) {
		recent = 0
	}
	if err := w.confirmWriter(ctx, recent); err != nil {
		return err
	}
	if step.Object != nil {
		return w.lastCheckObject(ctx, basis, step, call)
	}
	if !isRisky(step, call) && isRefusedByDigest(call) {
		if len(step.Touches) > 0 && w.superseded(basis) {
			return epoch.ErrSuperseded
		}
		return nil
	}
	if call.Op == cluster.OpDownload { // it has no guest to read again, and Proxmox overwrites no file
		if w.superseded(basis) {
			return epoch.ErrSuperseded
		}
		return nil
	}
	if step.ClearsLeftover {
		return w.checkFree(ctx, basis, call.VMID)
	}
	row := cluster.Row{Kind: call.Kind, VMID: call.VMID, Node: call.Node} // the address of the call; another guest may have it by now
	if step.Order != nil {
		row.Status = guest.StatusUnknown // an order depends on the run state, which the inventory shows late
	} else if listed, found := basis.Inventory.Row(call.VMID); found {
		row.Status = listed.Status
	}
	seen, proof, err := w.readAgain(ctx, basis, row)
	switch {
	case err != nil:
		return err
	case w.superseded(basis):
		return epoch.ErrSuperseded
	case proof.Conflict(seen.Kind) != "":
		return errReplaced
	}
	if step.Order != nil && step.Op.NeedsSnapshots() {
		if seen, err = observe.WithSnapshots(ctx, w.cluster, seen); err != nil {
			return err
		}
	}
	if err := checkOrder(step, seen); err != nil {
		return err
	}
	if seen.Lock != "" {
		return fmt.Errorf("%w (%s)", cluster.ErrLocked, seen.Lock)
	}
	if err := checkProtection(step, call, seen); err != nil {
		return err
	}
	unproven := !proof.IsCertain() && !step.Unproven // an approval of an unproven step covers that
	if call.Op == cluster.OpDestroy && (unproven || !slices.Equal(guest.Volumes(seen), step.Volumes)) {
		return errReplaced
	}
	if !isCovered(step, call, seen) {
		return errReplaced
	}
	return w.confirmWriter(ctx, writer.Recent) // reads the mark again only if the readings above were slow
}

// checkScope compares what a step touches with what its signers may touch, as the journal records them now. A guest that may be cloned only because it
// is a template, or a template with a certain name, is read again.
func (w *Worker) checkScope(ctx context.Context, basis *Basis, step plan.Step) error {
	scope := basis.Scope(w.journal.State())
	if v := scope.Judge(step); v.Held {
		return fmt.Errorf("%w: %s", errOutOfScope, v.Message)
	}
	template := scope.NeedsTemplate(step)
	if template == 0 {
		return nil
	}
	row, _ := basis.Inventory.Row(template)
	seen, _, err := w.readAgain(ctx, basis, row)
	if err != nil {
		return err
	}
	if w.superseded(basis) {
		return epoch.ErrSuperseded
	}
	row.Name, row.Template = seen.Name, seen.Keys["template"].Text == "1"
	scope.Inventory = cluster.Inventory{Rows: []cluster.Row{row}} // a step clones one guest
	if v := scope.Judge(step); v.Held {
		return fmt.Errorf("%w: %s", errOutOfScope, v.Message)
	}
	return nil
}

// checkPolicies asks the policies again, with the present time and the reading that the step was planned from. The verdict has released the step.
func (b *Basis) checkPolicies(state journal.State, now time.Time, step plan.Step, verdict gate.Verdict, seen guest.Observed) error {
	if b.Rules == nil {
		return nil
	}
	judge := gate.Gate{Cluster: b.Cluster, Now: now, Rules: b.Rules, Scope: b.Scope(state)}
	if seen.VMID != 0 {
		judge.Seen = map[int]guest.Observed{seen.VMID: seen}
	}
	findings := judge.Findings(step)
	if f, denied := policy.First(findings, policy.Deny); denied {
		return fmt.Errorf("%w: policy %s", errPolicy, f)
	}
	if f, asks := policy.First(findings, policy.RequireApproval); asks && policy.Approvals(findings) > verdict.Required {
		return fmt.Errorf("%w: policy %s", errPolicy, f)
	}
	return nil
}

// errPolicy refuses a call that a policy holds since the step was judged.
var errPolicy = errors.New("held by a policy")

// errOutOfScope refuses a call that touches what the signer of the manifest may not touch.
var errOutOfScope = errors.New("out of scope")

// isRefusedByDigest reports whether Proxmox refuses the call if another guest has the vmid by now: a create, or a call with the digest of the
// configuration that it was planned for. A start, for example, would start the other guest.
func isRefusedByDigest(call cluster.Call) bool {
	return call.Op == cluster.OpCreate || call.Op.WritesConfig()
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

// finishCheck returns the last check of a call that finishes a step, perhaps one of an earlier epoch. It does not compare that epoch, since no later plan
// contains the call. Instead it compares the newest basis, which must last: writing is allowed, the manifest does not forbid the call, and the guest is
// still the one that the agent owns.
func (w *Worker) finishCheck(call cluster.Call) cluster.LastCheck {
	return func(ctx context.Context) error {
		basis := w.basis()
		if basis.NoWrites != reason.WritesAllowed {
			return fmt.Errorf("writing is not allowed now: %s", basis.Why)
		}
		if forbidden := basis.finishForbiddenBy(call.Op, call.VMID, time.Now()); forbidden != "" {
			return fmt.Errorf("the manifest of the guest has %s", forbidden)
		}
		if err := w.confirmWriter(ctx, 0); err != nil {
			return err
		}
		seen, proof, err := w.readAgain(ctx, basis, cluster.Row{Kind: call.Kind, VMID: call.VMID, Node: call.Node})
		_, isOwned := w.journal.State().Owned[call.VMID]
		switch {
		case err != nil:
			return err
		case w.superseded(basis):
			return epoch.ErrSuperseded // the step stays open, and the call is made under the next basis
		case !isOwned || proof.Conflict(seen.Kind) != "":
			return errReplaced
		}
		return nil
	}
}

// readAgain reads the guest of a row immediately before a call, and compares it with the ownership record of its vmid.
func (w *Worker) readAgain(ctx context.Context, basis *Basis, row cluster.Row) (guest.Observed, ownership.Evidence, error) {
	seen, err := observe.ReadGuest(ctx, w.cluster, row, basis.Inventory.Version)
	if err != nil {
		return seen, ownership.Evidence{}, fmt.Errorf("read guest %d again before the call: %w", row.VMID, err)
	}
	return seen, ownership.Compare(w.journal.State().Owned[row.VMID], seen), nil
}

// confirmWriter returns an error if the state directory was removed or replaced, since the records of a call would be lost, or if this process is
// not the writer of the cluster by a reading that began after the call, or that is at most recent old.
func (w *Worker) confirmWriter(ctx context.Context, recent time.Duration) error {
	err := w.journal.Present()
	stopped := err != nil
	if err == nil {
		err = w.confirm(ctx, recent)
		stopped = errors.Is(err, writer.ErrNotWriter)
	}
	if stopped {
		return fmt.Errorf("%w: %w", cluster.ErrWritesStopped, err)
	}
	return err
}
