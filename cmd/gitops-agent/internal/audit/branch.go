package audit

import (
	"context"
	"errors"
	"fmt"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// base returns where the history begins that the agent verifies for a tip: the revision that it accepted last, if its journal is in files that can be read here,
// or else the anchor. It is zero if neither is known.
func (s trustSettings) base() verify.Base {
	if s.config.StateDir != "" && !s.config.UsesEtcd() {
		if last := acceptedLast(s.config); last.Commit != "" {
			return last
		}
	}
	return verify.Base{Commit: gitsource.ID(s.config.Trust.Anchor)}
}

// maxBelowTip is how many commits may be between a tip and what was accepted, so that the tip is known to be above that.
const maxBelowTip = 50_000

// refuseBranch makes the verdict on a single accepted commit a refusal if the agent would refuse a branch with it because of an older commit: one below it that was
// not accepted yet. A signed commit on top of an unsigned one does not help.
func (a *Audit) refuseBranch(ctx context.Context, chosen selection, verdicts []verdict) error {
	if a.base.Commit == "" || a.policy == nil || chosen.tip != "" || len(chosen.commits) != 1 {
		return nil
	}
	tip, v := chosen.commits[0], &verdicts[len(verdicts)-1]
	if v.Object != tip || !v.Accepted {
		return nil
	}
	path, err := verify.FirstParents(ctx, a.repo, a.base.Commit, tip, maxBelowTip, nil)
	if err != nil || len(path) < 2 {
		return nil //nolint:nilerr // the commit is not above what was accepted, or nothing is between: it stands for itself
	}
	_, err = a.policy.Check(ctx, a.repo, tip, a.base)
	rejected := new(verify.RejectedError)
	if !errors.As(err, &rejected) {
		return err
	}
	if rejected.Reason == verify.ReasonTooManyCommits {
		v.Accepted, v.below, v.Reason, v.Hint = false, path[0], rejected.Reason, rejected.Hint
		v.Err = fmt.Errorf("it is signed by an accepted signer, and the agent refuses a branch with it because of what is below it: %w", err)
		return nil
	}
	if rejected.Commit == tip || rejected.Commit == "" {
		return nil // what is wrong with the commit itself as a tip is a warning: warnAboutTarget
	}
	v.Accepted, v.below, v.Reason, v.Hint = false, rejected.Commit, rejected.Reason, rejected.Hint
	v.Err = fmt.Errorf("it is signed by an accepted signer, and the agent refuses a branch with it because of a commit below it: %w", err)
	return nil
}
