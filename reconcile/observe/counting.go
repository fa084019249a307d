package observe

import (
	"context"
	"sync/atomic"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// CountingReader is a reader that counts the full readings of guests, for the progress of a command.
type CountingReader struct {
	cluster.Reader
	Counted func(readings int) // called after each reading, also a failed one, by several goroutines at once

	readings atomic.Int64
}

// Observe reads a guest in full.
func (r *CountingReader) Observe(ctx context.Context, row cluster.Row) (guest.Observed, error) {
	seen, err := r.Reader.Observe(ctx, row)
	r.Counted(int(r.readings.Add(1)))
	return seen, err
}
