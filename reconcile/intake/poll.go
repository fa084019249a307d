package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// bringIntoForce makes an acceptance durable and puts it into force. No step begins in between.
func (in *Intake) bringIntoForce(ctx context.Context, accepted Accepted, policy *verify.Policy, seen time.Time, record func() error) error {
	number, err := in.epochs.Advance(record)
	switch {
	case in.journal.Healthy() != nil && errors.Is(err, journal.ErrAppend):
		return &JournalError{err}
	case err != nil:
		return err
	}
	in.force = InForce{
		Limits: LimitsOf(policy), Accepted: accepted, Released: in.former.released(in.journal.State()), Epoch: number, Seen: seen, Since: time.Now(),
	}
	in.events.Happened(event.RevisionAccepted, event.Details{Fields: []any{"revision", accepted.revision.String(), "signer", accepted.revision.Signer().Subject}})
	in.noteUnverified(nil)
	if warnings := accepted.Warnings(); len(warnings) > 0 {
		in.log.WarnContext(ctx, "manifests have warnings", "warnings", warnings)
	}
	return nil
}

// errRevoked is the cause of a refusal: the accepted revision no longer verifies, and no signer with the role change signed a new commit.
var errRevoked = errors.New("the accepted revision no longer verifies, and no signer with the role change signed a commit on top of it")

// Polled is the outcome of one poll.
type Polled struct {
	Head      gitsource.Head      // its commit is the candidate: newer commits that name only other clusters count as not seen yet
	Began     time.Time           // when the poll began: what was pushed before it is seen
	At        time.Time           // when the head was fetched
	InForce   InForce             // the revision in force after the poll
	Refusal   *report.Refused     // why the head was refused; nil if it was not
	Waiting   *report.WaitingHead // what the head waits for before it can be decided; nil if it waits for nothing
	Ahead     *report.Ahead       // the newer commits that name only other clusters; nil if there are none
	Err       error               // why the head could not be fetched or read; the revision in force does not change
	Unchecked error               // why the head could not be checked or accepted: an error of IsUnchecked; the revision in force does not change
	Root      verify.RootInfo     // the trusted root in force; zero if the policy could not be read
}

// Poll fetches the head of the branch once and accepts it if it passes every check. The base does not advance in any other case.
func (in *Intake) Poll(ctx context.Context) Polled {
	started, before := time.Now(), in.force.Since
	p := in.poll(ctx)
	p.Began, p.InForce = started, in.force
	if policy, err := in.policy(); err == nil {
		p.Root = policy.Root()
	}
	outcome := report.PollOutcome{Result: report.PollUnchanged, Duration: time.Since(started), Head: string(p.Head.Commit), Err: p.Err}
	if !p.At.IsZero() {
		outcome.Fetch = p.At.Sub(started)
	}
	switch {
	case p.Err != nil:
		outcome.Result = report.PollFailed
	case p.Unchecked != nil:
		outcome.Result = report.PollUnchecked
	case p.Refusal != nil:
		outcome.Result = report.PollRefused
	case p.Waiting != nil:
		outcome.Result = report.PollWaiting
	case !in.force.Resumed && in.force.Since != before:
		outcome.Result = report.PollAccepted
	}
	in.hooks.poll(outcome)
	return p
}

func (in *Intake) poll(ctx context.Context) Polled {
	p := Polled{}
	if p.Err = in.journal.Present(); p.Err != nil {
		return p // a fetch would make the directory again
	}
	last := in.last()
	if last != nil && in.policyChanged() {
		in.Resume(ctx) // before fetching: a revoked authority must not stay in force while the remote is down
	}
	p.Head, p.Err = in.source.Fetch(ctx)
	if p.Err != nil {
		return p
	}
	p.At, in.notes = time.Now(), p.Head.Notes
	if last != nil && in.absent {
		in.Resume(ctx) // the repository was lost, and the fetch has made it again
	}
	if p.Head.Commit, p.Err = in.candidate(ctx, p.Head.Commit); p.Err != nil {
		return p
	}
	p.Ahead = in.selected.ahead
	if last != nil && last.Commit == string(p.Head.Commit) && in.checkedBy != nil {
		if in.acceptedElsewhere(last) {
			in.force.Since = time.Time{} // it comes into force now
			in.Resume(ctx)
		}
		in.raiseFloor(ctx)
		return p
	}
	if p.Unchecked = in.checkJournal(); p.Unchecked != nil {
		return p
	}
	in.fetched(p.Head.Commit, p.At)
	if err := in.accept(ctx, p.Head.Commit, p.At, last); err != nil {
		p.Waiting = in.waiting(p.Head.Commit, err, p.At)
		if p.Waiting == nil {
			p.Refusal = refusal(p.Head.Commit, err, p.At)
		}
		switch {
		case p.Waiting != nil, p.Refusal != nil:
		case IsUnchecked(err):
			p.Unchecked = err
		default:
			p.Err = err
		}
	}
	return p
}

// checkJournal returns why no revision can be accepted now: the journal takes no records, or it is not known which one it says was accepted last.
func (in *Intake) checkJournal() error {
	err := in.journal.Healthy()
	if in.dryRun {
		err = in.journal.State().Unread
	}
	if err != nil {
		return &JournalError{err}
	}
	return nil
}

// policyChanged reports whether the accepted revision has to be verified again: it was not verified since the start, or the policy has been
// replaced since.
func (in *Intake) policyChanged() bool {
	policy, err := in.policy()
	return err != nil || policy != in.checkedBy
}

// accept verifies and parses a head, makes the acceptance durable and puts it into force.
func (in *Intake) accept(ctx context.Context, head gitsource.ID, seen time.Time, last *journal.Accepted) error {
	base, err := in.base(ctx, last)
	if err != nil {
		return err
	}
	base.Rewrite = in.note.read()
	accepted, policy, err := in.checkUnlessRefused(ctx, head, base.Base)
	if err != nil {
		return base.explain(err)
	}
	if in.revoked && !signedByChanger(accepted.revision) {
		return revokedError(head)
	}
	in.readFormer(ctx, in.journal.State(), true)
	record := accepted.record(base.sequence + 1)
	durable := func() error { return in.record(ctx, accepted, record, base, policy) }
	if in.dryRun {
		durable = func() error { in.wouldBe = &record; return nil }
	} else if err := in.source.Keep(ctx, head); err != nil {
		return fmt.Errorf("keep %.7s: %w", head, err)
	}
	if err := in.bringIntoForce(ctx, accepted, policy, seen, durable); err != nil {
		return err
	}
	in.checkedBy, in.floorDue, in.revoked = policy, true, false
	in.raiseFloor(ctx)
	return nil
}

// revokedError refuses a head on a revision that no longer verifies, if no signer with the role change signed a commit above it.
func revokedError(head gitsource.ID) error {
	return &RefusedError{
		Commit: head, Reason: string(verify.ReasonMissingRole), Err: errRevoked, Hint: "let a signer with the role change sign a commit on top",
	}
}

// signedByChanger reports whether a signer with the role change signed one of the revision's commits.
func signedByChanger(rev verify.Revision) bool {
	return slices.ContainsFunc(rev.Commits(), func(c verify.SignedCommit) bool { return slices.Contains(c.Roles, verify.RoleChange) })
}
