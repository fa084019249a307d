package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// Intake turns the remote's head into an accepted revision. It belongs to one goroutine.
type Intake struct {
	Source  *gitsource.Source
	Policy  func() (*verify.Policy, error) // the policy in force; trusted roots change under way
	Journal *journal.Journal
	Scope   Scope
	Hooks   Hooks
	Floors  FloorKeeper // nil keeps none
	Note    RewriteNote
	DryRun  bool // reads the floor and does not raise it
	Log     *slog.Logger
	Turn    *sync.RWMutex // held for writing while a revision is accepted: no step begins then

	floorDue  bool              // the accepted revision is not yet the cluster's floor
	imagined  *journal.Accepted // what a dry run would have accepted
	revoked   bool              // the revision in force does not verify any more
	checkedBy *verify.Policy    // by which the revision in force was verified in this life; nil when it was not
}

// Polled is what one look at the remote brought.
type Polled struct {
	Head     gitsource.Head
	At       time.Time // when the head was fetched
	Accepted *Accepted // nil when nothing new was accepted
	Refusal  *report.Refused
	Resumed  *Resumption // the revision in force was verified again; nil when that was not due
	Err      error       // of fetching or reading; the last good state holds
}

// Poll looks at the remote once. Whatever goes wrong, the base does not advance.
func (in *Intake) Poll(ctx context.Context) Polled {
	started := time.Now()
	t := in.take(ctx)
	outcome := report.PollOutcome{Result: report.PollUnchanged, Duration: time.Since(started), Head: string(t.Head.Commit), Err: t.Err}
	switch {
	case t.Err != nil:
		outcome.Result = report.PollFailed
	case t.Refusal != nil:
		outcome.Result = report.PollRefused
	case t.Accepted != nil:
		outcome.Result = report.PollAccepted
	}
	in.Hooks.poll(outcome)
	return t
}

func (in *Intake) take(ctx context.Context) Polled {
	t := Polled{}
	last := in.last()
	if last != nil && in.policyChanged() {
		t.Resumed = in.Resume(ctx) // also while the remote is down: a revoked authority must not live on
	}
	t.Head, t.Err = in.Source.Fetch(ctx)
	if t.Err != nil {
		return t
	}
	t.At = time.Now()
	if last != nil && last.Commit == string(t.Head.Commit) && in.checkedBy != nil {
		in.raiseFloor(ctx, *last)
		return t
	}
	accepted, err := in.accept(ctx, t.Head.Commit, last)
	if err != nil {
		t.Refusal = refusal(t.Head.Commit, err, t.At)
		if t.Refusal == nil {
			t.Err = err
		}
		return t
	}
	t.Accepted = &accepted
	return t
}

// last returns the revision that was accepted last.
func (in *Intake) last() *journal.Accepted {
	if in.imagined != nil {
		return in.imagined
	}
	return in.Journal.State().Accepted
}

// policyChanged reports whether the revision in force has to be verified again: it was not in this life, or the trusted root was
// replaced meanwhile.
func (in *Intake) policyChanged() bool {
	policy, err := in.Policy()
	return err != nil || policy != in.checkedBy
}

// accept verifies, parses and journals a head.
func (in *Intake) accept(ctx context.Context, head gitsource.ID, last *journal.Accepted) (Accepted, error) {
	base, err := in.base(ctx, last)
	if err != nil {
		return Accepted{}, err
	}
	base.Rewrite = in.Note.read()
	accepted, policy, err := in.check(ctx, head, base.Base)
	if err != nil {
		return Accepted{}, err
	}
	if in.revoked && !vouched(accepted.Revision) {
		return Accepted{}, &RefusedError{
			Commit: head, Reason: string(verify.ReasonMissingRole), Hint: "let somebody who may change sign a commit on top",
			Err: errors.New("the revision below no longer verifies, and nobody who may change vouches for the files anew"),
		}
	}
	record := accepted.record(base.sequence + 1)
	if in.DryRun {
		in.imagined, in.checkedBy, in.revoked = &record, policy, false
		return accepted, nil
	}
	if err := in.Source.Keep(ctx, head); err != nil {
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
func (in *Intake) check(ctx context.Context, head gitsource.ID, base verify.Base) (Accepted, *verify.Policy, error) {
	policy, err := in.Policy()
	if err != nil {
		return Accepted{}, nil, err
	}
	started := time.Now()
	repo := in.Source.Repository()
	rev, err := policy.Check(ctx, repo, head, base)
	outcome := report.VerifyOutcome{Duration: time.Since(started)}
	var rejected *verify.RejectedError
	if errors.As(err, &rejected) {
		outcome.Reason = string(rejected.Reason)
	}
	if err == nil || rejected != nil {
		in.Hooks.verify(outcome)
	}
	if err != nil {
		return Accepted{}, nil, err
	}
	accepted, err := Accept(ctx, repo, rev, in.Scope)
	if err != nil {
		return Accepted{}, nil, err
	}
	if _, err := plan.WantedGuests(accepted.Set, in.Journal.State()); err != nil {
		return Accepted{}, nil, &RefusedError{Commit: head, Reason: report.RefusedManifests, Err: err, Hint: "give one of the guests another vmid"}
	}
	return accepted, policy, nil
}

// record makes an acceptance durable, with its orders, before anything follows from it, and then the lifecycles to remember.
func (in *Intake) record(ctx context.Context, accepted Accepted, record journal.Accepted, base foundation) error {
	in.Turn.Lock()
	defer in.Turn.Unlock()
	state := in.Journal.State()
	orders := newOrders(accepted.Revision, state)
	bodies := append(slices.Clone(orders), record)
	if base.forgotten {
		bodies = append(bodies, voidOrders(state)...)
	}
	rewrote := base.Rewrite == accepted.Revision.Commit()
	if rewrote {
		bodies = append(bodies, journal.Event{Name: "rewrite-allowed", Revision: record.Commit, Message: "by a note in the state directory"})
	}
	if err := in.append(ctx, bodies...); err != nil {
		return err
	}
	if rewrote {
		if err := in.Note.spend(); err != nil {
			in.Log.WarnContext(ctx, "rewrite note not removed", "error", err)
		}
	}
	for _, o := range orders {
		if ordered, ok := o.(journal.Ordered); ok {
			in.Hooks.order(gate.OperationOf(ordered.Order), ordered.State)
			in.tell(ctx, ordered)
		}
	}
	return in.remember(ctx, accepted)
}

// tell warns of an order that releases nothing: a person signed it and waits for something to happen.
func (in *Intake) tell(ctx context.Context, o journal.Ordered) {
	why := ""
	switch {
	case gate.OperationOf(o.Order) == "run":
		why = "one-shot operations are not supported by this version"
	case o.State == journal.OrderExpired:
		why = "it was signed before this agent's state began, and may have run already"
	case o.State == journal.OrderRefused:
		why = "its signer may not approve"
	default:
		return
	}
	in.Log.WarnContext(ctx, "order releases nothing", "order", o.Order, "signer", o.Subject, "commit", o.Commit, "why", why)
}

func (in *Intake) append(ctx context.Context, bodies ...journal.Body) error {
	if err := in.Journal.Append(ctx, bodies...); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

// Resumption is the outcome of verifying the revision in force again.
type Resumption struct {
	Accepted Accepted
	Err      error
}

// Resume verifies the revision in force again, under today's policy. It returns nil when there is none.
func (in *Intake) Resume(ctx context.Context) *Resumption {
	last := in.last()
	if last == nil {
		return nil
	}
	in.checkedBy = nil
	if f, err := in.floorAbove(ctx, last); err != nil {
		return &Resumption{Err: err}
	} else if f.Sequence > 0 {
		return &Resumption{Err: fmt.Errorf("the cluster remembers a newer revision, %s with sequence %d, than the local state: %d", f.Commit, f.Sequence, last.Sequence)}
	}
	id := gitsource.ID(last.Commit)
	accepted, policy, err := in.check(ctx, id, verify.Base{Commit: id, ProvenTime: last.ProvenTime})
	in.revoked = refusal(id, err, time.Time{}) != nil
	if err == nil && !in.DryRun {
		in.Turn.Lock()
		err = in.remember(ctx, accepted)
		in.Turn.Unlock()
	}
	if err == nil {
		in.checkedBy = policy
	}
	return &Resumption{accepted, err}
}

// refusal returns the report of a refused head, or nil when the error is no refusal.
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
