package lane

import (
	"context"
	"fmt"
	"math"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/writer"
)

// maxFirewallSteps bounds the steps of a turn that works on a firewall, or on the items of an object: each call is a step.
const maxFirewallSteps = 2000

// mostSteps returns how many steps the turn may have.
func (t *turn) mostSteps() int {
	switch {
	case t.last.Op == cluster.OpFirewall, t.last.IsAboutItem():
		return maxFirewallSteps
	case t.last.Op == cluster.OpDownload, t.last.Op == cluster.OpDeleteFile:
		return math.MaxInt // one for each file
	}
	return maxStepsInARow
}

// lookForLeftover reads the firewall of a free vmid under which a guest is created whose manifest describes a firewall. A clone gets the firewall of its
// source, whatever was there before.
func (w *Worker) lookForLeftover(ctx context.Context, basis *Basis, got *cluster.Snapshot, t *turn) error {
	d, named := basis.desired(t.Key.VMID)
	if !named || d.Firewall == nil || d.Source.Clone != nil || d.Node == "" || t.Absence != cluster.Gone {
		return nil
	}
	left, err := w.cluster.Firewall(ctx, cluster.Row{Kind: d.Kind, VMID: d.VMID, Node: d.Node}, true)
	if err != nil {
		return fmt.Errorf("read the firewall of the free vmid %d: %w", d.VMID, err)
	}
	got.Leftover = map[int]guest.FirewallSeen{d.VMID: left}
	return nil
}

// checkFree returns an error if a guest has a vmid that was free when the step was planned.
func (w *Worker) checkFree(ctx context.Context, basis *Basis, vmid int) error {
	taken, err := w.cluster.Exists(ctx, vmid)
	switch {
	case err != nil:
		return fmt.Errorf("ask for vmid %d again before the call: %w", vmid, err)
	case taken:
		return errReplaced
	case w.superseded(basis):
		return epoch.ErrSuperseded
	}
	return w.confirmWriter(ctx, writer.Recent)
}
