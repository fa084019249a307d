package lane

import (
	"context"
	"fmt"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
)

// lookForTemplate reads the guest that is cloned if the guest of the turn is created: what the clone can become depends on it.
func (w *Worker) lookForTemplate(ctx context.Context, basis *Basis, got *cluster.Snapshot, t *turn) error {
	d, named := basis.desired(t.Key.VMID)
	if !named || t.Absence != cluster.Gone {
		return nil
	}
	for _, vmid := range plan.Templates([]guest.Desired{*d}, got.Inventory) {
		row, _ := got.Inventory.Row(vmid)
		reading := w.find(ctx, row, true, got.Inventory.Version)
		switch {
		case reading.Err != nil:
			return fmt.Errorf("read guest %d, which is cloned: %w", vmid, reading.Err)
		case reading.Absence != "":
			got.Absent[vmid] = reading.Absence
		default:
			got.Guests[vmid] = reading.Seen
		}
	}
	return nil
}
