package lane

import (
	"context"

	"gitops-agent/reconcile/journal"
)

// appendIfCurrent appends records that follow from a basis, if its epoch lasts. The epoch cannot end meanwhile.
func (w *Worker) appendIfCurrent(ctx context.Context, basis *Basis, records ...journal.Body) error {
	return w.epochs.During(basis.Epoch, func() error { return w.append(ctx, records...) })
}

// superseded reports whether the epoch of the basis has ended.
func (w *Worker) superseded(basis *Basis) bool { return w.epochs.Now() != basis.Epoch }
