package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/journal"
	"gitops-agent/verify"
)

// intake turns the remote's head into an accepted revision. It belongs to one goroutine.
type intake struct {
	source  *gitsource.Source
	policy  func() (*verify.Policy, error) // the policy in force; trusted roots change under way
	journal *journal.Journal
	scope   Scope
	hooks   IntakeHooks
	floors  FloorKeeper // nil keeps none
	note    RewriteNote
	dryRun  bool // reads the floor and does not raise it
	log     *slog.Logger
	turn    *sync.RWMutex // held for writing while a revision is accepted: no step begins then

	floorDue  bool              // the accepted revision is not yet the cluster's floor
	imagined  *journal.Accepted // what a dry run would have accepted
	revoked   bool              // the revision in force does not verify any more
	checkedBy *verify.Policy    // by which the revision in force was verified in this life; nil when it was not
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
	t := taken{}
	last := in.last()
	if last != nil && in.policyChanged() {
		t.resumed = in.resume(ctx) // also while the remote is down: a revoked authority must not live on
	}
	t.head, t.err = in.source.Fetch(ctx)
	if t.err != nil {
		return t
	}
	t.at = time.Now()
	if last != nil && last.Commit == string(t.head.Commit) && in.checkedBy != nil {
		in.raiseFloor(ctx, *last)
		return t
	}
	accepted, err := in.accept(ctx, t.head.Commit, last)
	if err != nil {
		t.refusal = refusal(t.head.Commit, err, t.at)
		if t.refusal == nil {
			t.err = err
		}
		return t
	}
	t.accepted = &accepted
	return t
}

// last returns the revision that was accepted last.
func (in *intake) last() *journal.Accepted {
	if in.imagined != nil {
		return in.imagined
	}
	return in.journal.State().Accepted
}

// policyChanged reports whether the revision in force has to be verified again: it was not in this life, or the trusted root was
// replaced meanwhile.
func (in *intake) policyChanged() bool {
	policy, err := in.policy()
	return err != nil || policy != in.checkedBy
}

// accept verifies, parses and journals a head.
func (in *intake) accept(ctx context.Context, head gitsource.ID, last *journal.Accepted) (Accepted, error) {
	base, err := in.base(ctx, last)
	if err != nil {
		return Accepted{}, err
	}
	base.Rewrite = in.note.read()
	accepted, policy, err := in.check(ctx, head, base.Base)
	if err != nil {
		return Accepted{}, err
	}
	if in.revoked && !vouched(accepted.revision) {
		return Accepted{}, &RefusedError{
			Commit: head, Reason: string(verify.ReasonMissingRole), Hint: "let somebody who may change sign a commit on top",
			Err: errors.New("the revision below no longer verifies, and nobody who may change vouches for the files anew"),
		}
	}
	record := accepted.record(base.sequence + 1)
	if in.dryRun {
		in.imagined, in.checkedBy, in.revoked = &record, policy, false
		return accepted, nil
	}
	if err := in.source.Keep(ctx, head); err != nil {
		return Accepted{}, fmt.Errorf("keep %.7s: %w", head, err)
	}
	if err := in.record(ctx, accepted, record, base); err != nil {
		return Accepted{}, err
	}
	in.checkedBy, in.floorDue, in.revoked = policy, true, false
	in.raiseFloor(ctx, record)
	return accepted, nil
}

// vouched reports whether somebody who may change files signed one of the revision's commits.
func vouched(rev verify.Revision) bool {
	return slices.ContainsFunc(rev.Commits(), func(c verify.SignedCommit) bool { return slices.Contains(c.Roles, verify.RoleChange) })
}

// check verifies a head and reads its manifests. It returns the policy that did so.
func (in *intake) check(ctx context.Context, head gitsource.ID, base verify.Base) (Accepted, *verify.Policy, error) {
	policy, err := in.policy()
	if err != nil {
		return Accepted{}, nil, err
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
		return Accepted{}, nil, err
	}
	accepted, err := Accept(ctx, repo, rev, in.scope)
	if err != nil {
		return Accepted{}, nil, err
	}
	if _, err := WantedGuests(accepted.set, in.journal.State()); err != nil {
		return Accepted{}, nil, &RefusedError{Commit: head, Reason: RefusedManifests, Err: err, Hint: "give one of the guests another vmid"}
	}
	return accepted, policy, nil
}

// record makes an acceptance durable, with its orders, before anything follows from it, and then the lifecycles to remember.
func (in *intake) record(ctx context.Context, accepted Accepted, record journal.Accepted, base foundation) error {
	in.turn.Lock()
	defer in.turn.Unlock()
	state := in.journal.State()
	orders := newOrders(accepted.revision, state)
	bodies := append(slices.Clone(orders), record)
	if base.forgotten {
		bodies = append(bodies, voidOrders(state)...)
	}
	rewrote := base.Rewrite == accepted.revision.Commit()
	if rewrote {
		bodies = append(bodies, journal.Event{Name: "rewrite-allowed", Revision: record.Commit, Message: "by a note in the state directory"})
	}
	if err := in.append(ctx, bodies...); err != nil {
		return err
	}
	if rewrote {
		if err := in.note.spend(); err != nil {
			in.log.WarnContext(ctx, "rewrite note not removed", "error", err)
		}
	}
	for _, o := range orders {
		if ordered, ok := o.(journal.Ordered); ok {
			in.hooks.order(operationOf(ordered.Order), ordered.State)
			in.tell(ctx, ordered)
		}
	}
	return in.remember(ctx, accepted)
}

// tell warns of an order that releases nothing: a person signed it and waits for something to happen.
func (in *intake) tell(ctx context.Context, o journal.Ordered) {
	why := ""
	switch {
	case operationOf(o.Order) == "run":
		why = "one-shot operations are not supported by this version"
	case o.State == journal.OrderExpired:
		why = "it was signed before this agent's state began, and may have run already"
	case o.State == journal.OrderRefused:
		why = "its signer may not approve"
	default:
		return
	}
	in.log.WarnContext(ctx, "order releases nothing", "order", o.Order, "signer", o.Subject, "commit", o.Commit, "why", why)
}

func (in *intake) append(ctx context.Context, bodies ...journal.Body) error {
	if err := in.journal.Append(ctx, bodies...); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

// resumption is the outcome of verifying the revision in force again.
type resumption struct {
	accepted Accepted
	err      error
}

// resume verifies the revision in force again, under today's policy. It returns nil when there is none.
func (in *intake) resume(ctx context.Context) *resumption {
	last := in.last()
	if last == nil {
		return nil
	}
	in.checkedBy = nil
	if f, err := in.floorAbove(ctx, last); err != nil {
		return &resumption{err: err}
	} else if f.Sequence > 0 {
		return &resumption{err: fmt.Errorf("the cluster remembers a newer revision, %s with sequence %d, than the local state: %d", f.Commit, f.Sequence, last.Sequence)}
	}
	id := gitsource.ID(last.Commit)
	accepted, policy, err := in.check(ctx, id, verify.Base{Commit: id, ProvenTime: last.ProvenTime})
	in.revoked = refusal(id, err, time.Time{}) != nil
	if err == nil && !in.dryRun {
		in.turn.Lock()
		err = in.remember(ctx, accepted)
		in.turn.Unlock()
	}
	if err == nil {
		in.checkedBy = policy
	}
	return &resumption{accepted, err}
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
