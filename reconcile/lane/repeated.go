package lane

import (
	"context"
	"fmt"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
)

// outwaitRepeated waits before a step that would remove what Proxmox refuses a late call of an earlier process for: after the guest was stopped or
// destroyed, that call would start it or create it again. It returns whether it has waited, so that the guest has to be read again.
func (w *Worker) outwaitRepeated(ctx context.Context, vmid int, op cluster.Op) (waited bool, err error) {
	if !op.EndsLateRefusal() || !w.journal.State().Repeated[vmid] {
		return false, nil
	}
	if wait := refusedTime - time.Since(w.started); wait > 0 {
		waited = true
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return waited, fmt.Errorf("%w: %w", cluster.ErrWritesStopped, ctx.Err())
		}
	}
	return waited, w.append(ctx, journal.Repeated{VMID: vmid, Over: true})
}
