package intake

import (
	"context"
	"errors"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/writer"
	"gitops-agent/verify"
)

// base returns the revision that was accepted last, or the cluster's floor if the local state is missing or older than the floor.
func (in *Intake) base(ctx context.Context, last *journal.Accepted) (baseline, error) {
	f, err := in.floorAbove(ctx, last)
	switch {
	case err != nil:
		return baseline{}, err
	case f.Sequence > 0:
		return baseline{verify.Base{Commit: gitsource.ID(f.Commit), ProvenTime: f.ProvenTime}, f.Sequence, true}, nil
	case last != nil:
		return baseline{verify.Base{Commit: gitsource.ID(last.Commit), ProvenTime: last.ProvenTime}, last.Sequence, false}, nil
	}
	return baseline{}, nil
}

// floorAbove returns the cluster's floor if it is newer than the local state, or else the zero floor. A pool comment that does not
// have the agent's form is written again from the local state. It is an error if the local state has no accepted revision.
func (in *Intake) floorAbove(ctx context.Context, last *journal.Accepted) (writer.Floor, error) {
	c, err := in.writer.Read(ctx)
	switch {
	case errors.Is(err, writer.ErrComment) && last != nil:
		in.log.WarnContext(ctx, "pool comment was edited, the local state is used", "error", err)
		in.floorDue = true
		return writer.Floor{}, nil
	case err != nil:
		return writer.Floor{}, &FloorError{err}
	case c.Floor.Above(last):
		in.log.WarnContext(ctx, "local state is older than the floor in the cluster", "revision", c.Floor.Commit, "sequence", c.Floor.Sequence)
		return c.Floor, nil
	}
	if last != nil && c.Floor != writer.FloorOf(*last) {
		in.floorDue = true
	}
	return writer.Floor{}, nil
}
