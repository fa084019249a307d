package intake

import (
	"context"
	"fmt"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/journal"
)

// fetchMissing fetches the branch if another agent accepted a commit that this host does not have yet. Its absence is no reason to doubt the revision.
func (in *Intake) fetchMissing(ctx context.Context, id gitsource.ID) error {
	if !in.shared {
		return nil
	}
	if _, err := in.source.Repository().Commit(ctx, id); err == nil {
		return nil
	}
	if _, err := in.source.Fetch(ctx); err != nil {
		return fmt.Errorf("fetch %.7s, which another agent accepted: %w", id, err)
	}
	return nil
}

// acceptedElsewhere reports whether another agent accepted a revision after the one in force here.
func (in *Intake) acceptedElsewhere(last *journal.Accepted) bool {
	return in.shared && in.force.Accepted.Valid() && string(in.force.Accepted.revision.Commit()) != last.Commit
}
