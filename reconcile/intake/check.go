package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// check verifies a head and reads its manifests. It returns the policy that it used, also with a refusal. Asked notes which evidence was asked for.
func (in *Intake) check(ctx context.Context, head gitsource.ID, base verify.Base, asked *askedFor) (Accepted, *verify.Policy, error) {
	policy, err := in.policy()
	if err != nil {
		return Accepted{}, nil, &PolicyError{err}
	}
	started := time.Now()
	repo := in.source.Repository()
	rev, err := in.withEvidence(policy, head, asked).Check(ctx, repo, head, base)
	outcome := report.VerifyOutcome{Commit: string(head), Duration: time.Since(started)}
	var rejected *verify.RejectedError
	if errors.As(err, &rejected) {
		outcome.Reason, outcome.Waiting = string(rejected.Reason), verify.IsMissingEvidence(err)
	}
	if err == nil {
		outcome.Signer = rev.Signer().Subject
	}
	if err == nil || rejected != nil {
		in.hooks.verify(outcome)
	}
	if err != nil {
		return Accepted{}, policy, err
	}
	if err := in.promoted.Check(ctx, repo, rev); err != nil {
		return Accepted{}, policy, err
	}
	accepted, err := acceptFor(ctx, repo, rev, in.scope, in.force.Accepted, recordsSigners(policy, in.recordSigners), in.journal.State())
	if err != nil {
		return Accepted{}, policy, err
	}
	return accepted, policy, nil
}

// acceptFor is Accept for an agent with a state, which assigned vmids to guests.
func acceptFor(ctx context.Context, repo *gitsource.Repository, rev verify.Revision, scope Scope, earlier Accepted, recorded bool, state journal.State) (Accepted, error) {
	accepted, err := Accept(ctx, repo, rev, scope, earlier, recorded || len(state.Policies) > 0, state.ClusterGuards != nil)
	if err != nil {
		return Accepted{}, err
	}
	assigned, err := accepted.Assign(state)
	if err != nil {
		return Accepted{}, &RefusedError{Commit: rev.Commit(), Reason: report.RefusedManifests, Err: err, Hint: "give one of the guests another vmid"}
	}
	if n := guard.CountPolicies(accepted.policies(), state); n > guard.MaxPolicies {
		return Accepted{}, &RefusedError{
			Commit: rev.Commit(), Reason: report.RefusedManifests, Err: fmt.Errorf("got %d policies with those whose removal is not approved, want at most %d", n, guard.MaxPolicies),
			Hint: "approve the removal of policies, or keep their names",
		}
	}
	return assigned, nil
}

// refusal returns the report of a refused head, or nil if the error is not a refusal.
func refusal(head gitsource.ID, err error, at time.Time) *report.Refused {
	var rejected *verify.RejectedError
	var refused *RefusedError
	switch {
	case errors.As(err, &rejected):
		return &report.Refused{Commit: string(head), Reason: string(rejected.Reason), Error: err.Error(), Hint: rejected.Hint, Since: at}
	case errors.As(err, &refused):
		return &report.Refused{Commit: string(head), Reason: refused.Reason, Error: err.Error(), Hint: refused.Hint, Since: at}
	default:
		return nil
	}
}
