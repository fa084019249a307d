package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/verify"
)

// intake turns the remote's head into an accepted revision. It belongs to one goroutine.
type intake struct {
	source  *gitsource.Source
	policy  func() (*verify.Policy, error) // the policy in force; trusted roots change under way
	journal *journal.Journal
	scope   Scope
	hooks   Hooks

	checkedBy *verify.Policy // by which the revision in force was verified in this life; nil when it was not
}

// taken is what one look at the remote brought.
type taken struct {
	head     gitsource.Head
	at       time.Time // when the head was fetched
	accepted *Accepted // nil when nothing new was accepted
	refusal  *RefusedReport
	resumed  *resumption // the revision in force was verified again; nil when that was not due
	err      error       // of fetching or reading; the last good state holds
}

// poll looks at the remote once. Whatever goes wrong, the base does not advance.
func (in *intake) poll(ctx context.Context) taken {
	started := time.Now()
	t := in.take(ctx)
	outcome := PollOutcome{Result: PollUnchanged, Duration: time.Since(started), Head: string(t.head.Commit), Err: t.err}
	switch {
	case t.err != nil:
		outcome.Result = PollFailed
	case t.refusal != nil:
		outcome.Result = PollRefused
	case t.accepted != nil:
		outcome.Result = PollAccepted
	}
	in.hooks.poll(outcome)
	return t
}

func (in *intake) take(ctx context.Context) taken {
	head, err := in.source.Fetch(ctx)
	if err != nil {
		return taken{err: err}
	}
	t := taken{head: head, at: time.Now()}
	last := in.journal.State().Accepted
	if last != nil && in.policyChanged() {
		t.resumed = in.resume(ctx)
	}
	if last != nil && last.Commit == string(head.Commit) {
		return t
	}
	accepted, err := in.accept(ctx, head.Commit, last)
	if err != nil {
		t.refusal = refusal(head.Commit, err, t.at)
		if t.refusal == nil {
			t.err = err
		}
		return t
	}
	t.accepted = &accepted
	return t
}

// policyChanged reports whether the revision in force has to be verified again: it was not in this life, or the trusted root was
// replaced meanwhile.
func (in *intake) policyChanged() bool {
	policy, err := in.policy()
	return err != nil || policy != in.checkedBy
}

// accept verifies, parses and journals a head.
func (in *intake) accept(ctx context.Context, head gitsource.ID, last *journal.Accepted) (Accepted, error) {
	base, sequence := verify.Base{}, uint64(1)
	if last != nil {
		base = verify.Base{Commit: gitsource.ID(last.Commit), ProvenTime: last.ProvenTime}
		sequence = last.Sequence + 1
	}
	accepted, err := in.check(ctx, head, base)
	if err != nil {
		return Accepted{}, err
	}
	if err := in.source.Keep(ctx, head); err != nil {
		return Accepted{}, fmt.Errorf("keep %.7s: %w", head, err)
	}
	return accepted, in.record(ctx, accepted, sequence)
}

func (in *intake) check(ctx context.Context, head gitsource.ID, base verify.Base) (Accepted, error) {
	policy, err := in.policy()
	if err != nil {
		return Accepted{}, err
	}
	started := time.Now()
	repo := in.source.Repository()
	rev, err := policy.Check(ctx, repo, head, base)
	outcome := VerifyOutcome{Duration: time.Since(started)}
	var rejected *verify.RejectedError
	if errors.As(err, &rejected) {
		outcome.Reason = string(rejected.Reason)
	}
	if err == nil || rejected != nil {
		in.hooks.verify(outcome)
	}
	if err != nil {
		return Accepted{}, err
	}
	accepted, err := Accept(ctx, repo, rev, in.scope)
	if err == nil {
		in.checkedBy = policy
	}
	return accepted, err
}

// record makes an acceptance durable, with its orders and the lifecycles to remember, before anything follows from it.
func (in *intake) record(ctx context.Context, accepted Accepted, sequence uint64) error {
	state := in.journal.State()
	var bodies []journal.Body
	for _, d := range lower(accepted, state) {
		if g := guarded(d); d.VMID != 0 && state.Owned[d.VMID].VMID != 0 && state.Guarded[d.VMID] != g {
			bodies = append(bodies, g)
		}
	}
	orders := newOrders(accepted.revision, state)
	bodies = append(bodies, orders...)
	bodies = append(bodies, accepted.record(sequence))
	if err := in.journal.Append(ctx, bodies...); err != nil {
		return fmt.Errorf("%w: %w", errJournal, err)
	}
	for _, o := range orders {
		if ordered, ok := o.(journal.Ordered); ok {
			in.hooks.order(operationOf(ordered.Order), ordered.State)
		}
	}
	return nil
}

// resumption is the outcome of verifying the revision in force again.
type resumption struct {
	accepted Accepted
	err      error
}

// resume verifies the revision of the journal again, under today's policy. It returns nil when there is none.
func (in *intake) resume(ctx context.Context) *resumption {
	last := in.journal.State().Accepted
	if last == nil {
		return nil
	}
	id := gitsource.ID(last.Commit)
	in.checkedBy = nil
	accepted, err := in.check(ctx, id, verify.Base{Commit: id, ProvenTime: last.ProvenTime})
	return &resumption{accepted, err}
}

// lower returns the guests of a revision with the vmids that the journal assigned. A set that was accepted lowers without error.
func lower(a Accepted, state journal.State) []guest.Desired {
	guests, err := a.set.Lower(assignedLabels(state))
	if err != nil {
		return nil
	}
	return guests
}

// guarded returns the lifecycle that is remembered for a guest.
func guarded(d guest.Desired) journal.Guarded {
	return journal.Guarded{
		VMID: d.VMID, Kind: string(d.Kind), Name: d.Name, Destroy: string(d.Lifecycle.Destroy), ShutdownTimeout: d.Lifecycle.ShutdownTimeout,
	}
}

// refusal returns the report of a refused head, or nil when the error is no refusal.
func refusal(head gitsource.ID, err error, at time.Time) *RefusedReport {
	var rejected *verify.RejectedError
	var refused *RefusedError
	switch {
	case errors.As(err, &rejected):
		return &RefusedReport{Commit: string(head), Reason: string(rejected.Reason), Error: err.Error(), Hint: rejected.Hint, Since: at}
	case errors.As(err, &refused):
		return &RefusedReport{Commit: string(head), Reason: refused.Reason, Error: err.Error(), Hint: refused.Hint, Since: at}
	default:
		return nil
	}
}
