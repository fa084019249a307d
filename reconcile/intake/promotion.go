package intake

import (
	"context"
	"errors"
	"fmt"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// Promotion is the rule that another cluster has matched a revision before this agent accepts its tree.
type Promotion struct {
	Cluster    string // whose agent states that it matched
	Statements Statements
}

// Statements find what agents stated.
type Statements interface {
	// Matched reports whether the cluster of a promotion stated that it matched the revision. If there is no such statement, problem says why, if more is
	// known. What cannot be read counts as missing. The error is that of the context.
	Matched(ctx context.Context, promoted verify.Promotion) (found bool, problem, err error)
}

// StatementMissingError means that a revision is promoted in the right form, and that no statement about the promoted revision was found yet.
type StatementMissingError struct {
	Commit   gitsource.ID
	Promoted verify.Promotion
	Problem  error // why nothing was found, if more is known
}

func (e *StatementMissingError) Error() string {
	return fmt.Sprintf("%.7s promotes %s, and no statement says that the cluster matched it", e.Commit, e.Promoted)
}

func (e *StatementMissingError) Unwrap() error { return e.Problem }

// Check returns an error unless the revision has the tree of what was accepted before, or promotes a revision that the other cluster matched. The cheap
// questions come first, and the history last. A nil rule asks nothing. Refusal tells a refusal from a wait for a statement.
func (p *Promotion) Check(ctx context.Context, repo *gitsource.Repository, rev verify.Revision) error {
	if p == nil || rev.IsUnchanged() {
		return nil
	}
	refuse := func(err error, hint string) error {
		return &RefusedError{Commit: rev.Commit(), Reason: report.RefusedPromotion, Err: err, Hint: hint}
	}
	promoted, err := rev.Promotion()
	if err != nil {
		return refuse(err, p.remedy())
	}
	if promoted.Cluster != p.Cluster {
		return refuse(fmt.Errorf("the commit promotes %s, and trust.promotion wants a revision of the cluster %q", promoted, p.Cluster), p.remedy())
	}
	err = rev.CheckPromoted(ctx, repo, promoted.Commit)
	switch {
	case errors.Is(err, verify.ErrOtherTree), errors.Is(err, verify.ErrNoAncestor):
		return refuse(err, p.remedy())
	case err != nil:
		return err
	}
	found, problem, err := p.Statements.Matched(ctx, promoted)
	switch {
	case err != nil:
		return err
	case !found:
		return &StatementMissingError{rev.Commit(), promoted, problem}
	}
	return nil
}

// remedy returns how a commit promotes a revision.
func (p *Promotion) remedy() string {
	return fmt.Sprintf("sign a commit without changes on the revision that %s matched: git commit --allow-empty -S --trailer 'Gitops-Promoted: %s/<branch>@<commit>' (docs/fleet.md)",
		p.Cluster, p.Cluster)
}

// waitingForStatement returns the report of a head that waits for a statement, or nil if the error is another one.
func waitingForStatement(head gitsource.ID, err error) *report.WaitingHead {
	var missing *StatementMissingError
	if !errors.As(err, &missing) {
		return nil
	}
	w := &report.WaitingHead{
		Commit: string(head), Reason: report.WaitingStatement, Error: err.Error(),
		Hint: fmt.Sprintf("wait until the agent of %s shows the revision as converged, then copy its attestation: docs/attestations.md", missing.Promoted.Cluster),
	}
	if missing.Problem != nil {
		w.Problem = missing.Problem.Error()
	}
	return w
}
