package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/verify"
)

// InForce is the revision in force at one moment, and whether it still verifies. It is immutable. The zero value has no revision.
type InForce struct {
	Accepted   Accepted     // not Valid while no revision was accepted, or while none verified since the start
	Unverified error        // why the accepted revision does not verify; nil if it does
	Epoch      epoch.Number // the epoch that began when this value came into force
	Seen       time.Time    // when the revision's commit was fetched first; for a resumed revision, when it was resumed
	Since      time.Time    // when the revision was accepted or resumed
	Resumed    bool         // an earlier run of the agent accepted the revision
}

// InForce returns the revision in force. Only the goroutine of the intake may call it.
func (in *Intake) InForce() InForce { return in.force }

// Resume verifies the accepted revision of the journal again, under the present policy, and returns the revision in force. It runs at the
// start, and whenever the policy changes.
func (in *Intake) Resume(ctx context.Context) InForce {
	if in.last() != nil {
		accepted, err := in.verifyAgain(ctx)
		in.resumed(ctx, accepted, err)
	}
	return in.force
}

// verifyAgain checks the revision that was accepted last.
func (in *Intake) verifyAgain(ctx context.Context) (Accepted, error) {
	last := in.last()
	in.checkedBy = nil
	f, err := in.floorAbove(ctx, last)
	switch {
	case err != nil:
		return Accepted{}, err
	case f.Sequence > 0:
		return Accepted{}, fmt.Errorf("the cluster remembers a newer revision, %s with sequence %d, than the local state: %d", f.Commit, f.Sequence, last.Sequence)
	}
	id := gitsource.ID(last.Commit)
	accepted, policy, err := in.check(ctx, id, verify.Base{Commit: id, ProvenTime: last.ProvenTime})
	in.revoked = refusal(id, err, time.Time{}) != nil
	if err == nil && !in.dryRun {
		err = in.appendMissingGuards(ctx, accepted)
	}
	if err == nil {
		in.checkedBy = policy
	}
	return accepted, err
}

// resumed makes the outcome of verifying again the state in force.
func (in *Intake) resumed(ctx context.Context, accepted Accepted, err error) {
	next := in.force
	next.Unverified = err
	if err != nil {
		in.log.WarnContext(ctx, "accepted revision does not verify", "error", err)
	} else {
		next.Accepted = accepted
		if next.Since.IsZero() {
			now := time.Now()
			next.Resumed, next.Since, next.Seen = true, now, now
		}
		in.log.InfoContext(ctx, "revision resumed", "revision", accepted.revision.String())
	}
	changed := (next.Unverified == nil) != (in.force.Unverified == nil) || next.Accepted.Valid() != in.force.Accepted.Valid()
	if changed {
		next.Epoch, _ = in.epochs.Advance(func() error { return nil }) // lanes of the epoch before stop now, not when the engine learns of it
	}
	in.force = next
}

// bringIntoForce makes an acceptance durable and puts it into force. No step begins in between.
func (in *Intake) bringIntoForce(ctx context.Context, accepted Accepted, seen time.Time, record func() error) error {
	number, err := in.epochs.Advance(record)
	if err != nil {
		return err
	}
	in.force = InForce{Accepted: accepted, Epoch: number, Seen: seen, Since: time.Now()}
	in.log.InfoContext(ctx, "revision accepted", "revision", accepted.revision.String(), "signer", accepted.revision.Signer().Subject)
	if warnings := accepted.Warnings(); len(warnings) > 0 {
		in.log.WarnContext(ctx, "manifests have warnings", "warnings", warnings)
	}
	return nil
}

// errRevoked is the cause of a refusal: the accepted revision no longer verifies, and the new one adds only commits that leave the files to it.
var errRevoked = errors.New("the revision below no longer verifies, and no signer with the role change signed the files again")
