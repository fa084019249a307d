package intake

import (
	"context"
	"errors"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// check verifies a head and reads its manifests. It returns the policy that it used.
func (in *Intake) check(ctx context.Context, head gitsource.ID, base verify.Base, parse parser) (Accepted, *verify.Policy, error) {
	policy, err := in.policy()
	if err != nil {
		return Accepted{}, nil, &PolicyError{err}
	}
	started := time.Now()
	repo := in.source.Repository()
	rev, err := policy.Check(ctx, repo, head, base)
	outcome := report.VerifyOutcome{Commit: string(head), Duration: time.Since(started)}
	var rejected *verify.RejectedError
	if errors.As(err, &rejected) {
		outcome.Reason = string(rejected.Reason)
	}
	if err == nil {
		outcome.Signer = rev.Signer().Subject
	}
	if err == nil || rejected != nil {
		in.hooks.verify(outcome)
	}
	if err != nil {
		return Accepted{}, nil, err
	}
	accepted, err := accept(ctx, repo, rev, in.scope, in.force.Accepted, in.recordsSigners(policy), parse)
	if err != nil {
		return Accepted{}, nil, err
	}
	assigned, err := accepted.Assign(in.journal.State())
	if err != nil {
		return Accepted{}, nil, &RefusedError{Commit: head, Reason: report.RefusedManifests, Err: err, Hint: "give one of the guests another vmid"}
	}
	return assigned, policy, nil
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
