package intake

import (
	"context"
	"errors"
	"time"

	"gitops-agent/reconcile/writer"
)

// floorWait bounds how long a poll waits for the write of the floor. A slower write ends beside the polls, so that it does not delay the revision.
const floorWait = time.Second

// floorWrite is a write of the floor that has not ended.
type floorWrite struct {
	commit string // the revision that was accepted last when it began
	done   chan error
}

// raiseFloor writes the accepted revision to the cluster's pool, once. A failure is tried again at the next poll, and so is a
// write that is not allowed at this moment. A superseded agent leaves the floor to the agent that writes.
func (in *Intake) raiseFloor(ctx context.Context) {
	if in.raising != nil && !in.floorWritten(ctx) || !in.floorDue || in.dryRun || in.mayWrite() != nil {
		return
	}
	write := &floorWrite{done: make(chan error, 1)}
	if last := in.last(); last != nil {
		write.commit = last.Commit
	}
	in.raising = write
	go func() { write.done <- in.writer.RaiseFloor(ctx) }()
	in.floorWritten(ctx)
}

// floorWritten waits a moment for the end of the write of the floor. It returns whether it has ended.
func (in *Intake) floorWritten(ctx context.Context) bool {
	timer := time.NewTimer(floorWait)
	defer timer.Stop()
	select {
	case err := <-in.raising.done:
		in.noteFloor(ctx, err)
		return true
	case <-timer.C:
		return false
	}
}

// noteFloor processes the end of the write of the floor. A revision that was accepted meanwhile still has to be written.
func (in *Intake) noteFloor(ctx context.Context, err error) {
	written := in.raising.commit
	in.raising = nil
	if err != nil && !errors.Is(err, writer.ErrNotWriter) && ctx.Err() == nil {
		in.log.WarnContext(ctx, "floor of accepted revisions not written", "error", err)
	}
	last := in.last()
	in.floorDue = err != nil || last != nil && last.Commit != written
}

// AwaitFloor returns when no write of the floor is under way. Like Poll, it belongs to the goroutine of the intake.
func (in *Intake) AwaitFloor(ctx context.Context) {
	if in.raising != nil {
		in.noteFloor(ctx, <-in.raising.done)
	}
}
