package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/event"
	"gitops-agent/verify"
)

// Resume verifies the accepted revision of the journal again, under the present policy, and returns the revision in force. It runs at the
// start, and whenever the policy changes.
func (in *Intake) Resume(ctx context.Context) InForce {
	if in.last() != nil {
		accepted, err := in.verifyAgain(ctx)
		in.resumed(ctx, accepted, err)
	}
	return in.force
}

// verifyAgain checks the revision that was accepted last. A value that only this release refuses holds the guest that has it, and no other guest.
func (in *Intake) verifyAgain(ctx context.Context) (Accepted, error) {
	last := in.last()
	in.checkedBy = nil
	f, err := in.floorAbove(ctx, last)
	switch {
	case err != nil:
		return Accepted{}, err
	case f.Sequence > 0 && in.journal.State().Unread != nil:
		return Accepted{}, &JournalError{in.journal.State().Unread}
	case f.Sequence > 0:
		return Accepted{}, fmt.Errorf("the local state has sequence %d, but the floor in the cluster is newer: %s with sequence %d", last.Sequence, f.Commit, f.Sequence)
	}
	id := gitsource.ID(last.Commit)
	if err := in.fetchMissing(ctx, id); err != nil {
		return Accepted{}, err
	}
	accepted, policy, err := in.check(ctx, id, verify.Base{Commit: id, ProvenTime: last.ProvenTime}, &askedFor{})
	in.revoked, in.absent = refusal(id, err, time.Time{}) != nil, isAbsent(err)
	if err == nil && !in.dryRun && in.journal.Healthy() == nil {
		err = in.appendMissing(ctx, accepted, policy)
	}
	if err == nil {
		in.checkedBy = policy
	}
	return accepted, err
}

// isAbsent reports whether a revision was refused because the repository does not have its commits: another clone may have them.
func isAbsent(err error) bool {
	var rejected *verify.RejectedError
	return errors.As(err, &rejected) && rejected.Reason == verify.ReasonIncompleteHistory
}

// resumed updates the revision in force with the outcome of verifyAgain.
func (in *Intake) resumed(ctx context.Context, accepted Accepted, err error) {
	next := in.force
	next.Unverified = err
	if err == nil {
		state := in.journal.State()
		in.readFormer(ctx, state, false)
		next.Accepted, next.Limits, next.Released = accepted, LimitsOf(in.checkedBy), in.former.released(state)
		if next.Since.IsZero() {
			now := time.Now()
			next.Resumed, next.Since, next.Seen = true, now, now
		}
	}
	changed := (next.Unverified == nil) != (in.force.Unverified == nil) || next.Accepted.Valid() != in.force.Accepted.Valid()
	if changed {
		next.Epoch, _ = in.epochs.Advance(func() error { return nil }) // lanes of the earlier epoch stop now, not when the engine processes the change
	}
	in.noteUnverified(err)
	if err == nil && changed {
		in.events.Happened(event.RevisionResumed, event.Details{Fields: []any{"revision", accepted.revision.String()}})
	}
	in.force = next
}

// noteUnverified states why the revision in force does not verify, or could not be checked; nil if it verifies.
func (in *Intake) noteUnverified(err error) {
	var id event.ID
	if err != nil {
		id[0] = err.Error()
	}
	details := func() event.Details { return event.Details{Fields: []any{"error", err}} }
	in.said.Is(event.RevisionUnchecked, IsUnchecked(err), id, details, nil)
	in.said.Is(event.RevisionUnverified, err != nil && !IsUnchecked(err), id, details, nil)
}
