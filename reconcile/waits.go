package reconcile

import (
	"context"
	"time"
)

// waitsEvery is how much longer than its last record says a step must have been open until the next record.
const waitsEvery = time.Minute

// noteWaits journals how long steps have been open, so that the next process continues their waits. A wait that is not written begins again there.
func (e *Engine) noteWaits(ctx context.Context, by time.Duration) {
	if e.opts.Journal.Healthy() != nil || e.opts.DryRun {
		return
	}
	if err := e.worker.NoteWaits(ctx, by); err != nil {
		e.log.WarnContext(ctx, "journal not written", "error", err)
	}
}
