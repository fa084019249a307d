package intake

import (
	"context"
	"errors"
	"fmt"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/journal"
	"gitops-agent/verify"
)

// base returns the revision that was accepted last, or the cluster's floor if the local state is missing or older than the floor.
func (in *Intake) base(ctx context.Context, last *journal.Accepted) (baseline, error) {
	f, err := in.floorAbove(ctx, last)
	switch {
	case err != nil:
		return baseline{}, err
	case f.Sequence > 0:
		return baseline{verify.Base{Commit: f.Commit, ProvenTime: f.ProvenTime}, f.Sequence, true}, nil
	case last != nil:
		return baseline{verify.Base{Commit: gitsource.ID(last.Commit), ProvenTime: last.ProvenTime}, last.Sequence, false}, nil
	}
	return baseline{}, nil
}

// floorAbove returns the cluster's floor if it is newer than the local state, or else the zero floor. A pool comment that does not
// have the agent's form is written again from the local state. It is an error if the local state has no accepted revision.
func (in *Intake) floorAbove(ctx context.Context, last *journal.Accepted) (floor, error) {
	if in.floors == nil {
		return floor{}, nil
	}
	f, err := readFloor(ctx, in.floors)
	switch {
	case errors.Is(err, errFloor) && last != nil:
		in.log.WarnContext(ctx, "pool comment was edited, the local state is used", "error", err)
		in.floorDue = true
		return floor{}, nil
	case err != nil:
		return floor{}, fmt.Errorf("read the floor of accepted revisions from the cluster: %w", err)
	case f.above(last):
		in.log.WarnContext(ctx, "local state is older than the floor in the cluster", "revision", string(f.Commit), "sequence", f.Sequence)
		return f, nil
	}
	if last != nil && f != floorOf(*last) {
		in.floorDue = true
	}
	return floor{}, nil
}

// raiseFloor writes the accepted revision to the cluster's pool, once. A failure is tried again at the next poll, and so is a
// write that is not allowed at this moment.
func (in *Intake) raiseFloor(ctx context.Context, accepted journal.Accepted) {
	if in.floors == nil || !in.floorDue || in.dryRun || in.mayWrite() != nil {
		return
	}
	if err := in.floors.SetPoolComment(ctx, FloorPool, floorOf(accepted).String()); err != nil {
		in.log.WarnContext(ctx, "floor of accepted revisions not written", "error", err)
		return
	}
	in.floorDue = false
}
