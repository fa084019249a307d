package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// Options configures an Intake. Source, Policy, Journal, Scope.Cluster and Epochs are required.
type Options struct {
	Source  *gitsource.Source
	Policy  func() (*verify.Policy, error) // the policy in force; the trusted root may be replaced while the agent runs
	Journal *journal.Journal
	Scope   Scope
	Epochs  *epoch.Counter
	Hooks   Hooks
	Floors  FloorKeeper // nil stores no floor
	Note    RewriteNote
	DryRun  bool         // reads the floor and does not raise it; journals nothing
	Log     *slog.Logger // nil is silent
}

// Intake turns the head of the branch into the revision in force. It belongs to one goroutine.
type Intake struct {
	source  *gitsource.Source
	policy  func() (*verify.Policy, error)
	journal *journal.Journal
	scope   Scope
	epochs  *epoch.Counter
	hooks   Hooks
	floors  FloorKeeper
	note    RewriteNote
	dryRun  bool
	log     *slog.Logger

	force     InForce
	floorDue  bool              // the accepted revision is not yet the cluster's floor
	dryRunTop *journal.Accepted // what a dry run would have accepted last
	revoked   bool              // the accepted revision was rejected when it was verified again
	checkedBy *verify.Policy    // the policy that verified the accepted revision since the start; nil if none did
}

// New returns an intake that has not polled yet.
func New(opts Options) *Intake {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	return &Intake{
		source: opts.Source, policy: opts.Policy, journal: opts.Journal, scope: opts.Scope, epochs: opts.Epochs, hooks: opts.Hooks,
		floors: opts.Floors, note: opts.Note, dryRun: opts.DryRun, log: opts.Log,
	}
}

// Polled is the outcome of one poll.
type Polled struct {
	Head    gitsource.Head
	At      time.Time       // when the head was fetched
	InForce InForce         // the revision in force after the poll
	Refusal *report.Refused // why the head was refused; nil if it was not
	Err     error           // of fetching or reading; the revision in force stays
}

// Poll fetches the head of the branch once and accepts it if it passes every check. The base does not advance in any other case.
func (in *Intake) Poll(ctx context.Context) Polled {
	started, before := time.Now(), in.force.Since
	p := in.poll(ctx)
	p.InForce = in.force
	outcome := report.PollOutcome{Result: report.PollUnchanged, Duration: time.Since(started), Head: string(p.Head.Commit), Err: p.Err}
	switch {
	case p.Err != nil:
		outcome.Result = report.PollFailed
	case p.Refusal != nil:
		outcome.Result = report.PollRefused
	case !in.force.Resumed && in.force.Since != before:
		outcome.Result = report.PollAccepted
	}
	in.hooks.poll(outcome)
	return p
}

func (in *Intake) poll(ctx context.Context) Polled {
	p := Polled{}
	last := in.last()
	if last != nil && in.policyChanged() {
		in.Resume(ctx) // before fetching: a revoked authority must not stay in force while the remote is down
	}
	p.Head, p.Err = in.source.Fetch(ctx)
	if p.Err != nil {
		return p
	}
	p.At = time.Now()
	if last != nil && last.Commit == string(p.Head.Commit) && in.checkedBy != nil {
		in.raiseFloor(ctx, *last)
		return p
	}
	if err := in.accept(ctx, p.Head.Commit, p.At, last); err != nil {
		if p.Refusal = refusal(p.Head.Commit, err, p.At); p.Refusal == nil {
			p.Err = err
		}
	}
	return p
}

// last returns the revision that was accepted last, nil if there is none.
func (in *Intake) last() *journal.Accepted {
	if in.dryRunTop != nil {
		return in.dryRunTop
	}
	return in.journal.State().Accepted
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
	accepted, policy, err := in.check(ctx, head, base.Base)
	if err != nil {
		return err
	}
	if in.revoked && !signedByChanger(accepted.revision) {
		return &RefusedError{
			Commit: head, Reason: string(verify.ReasonMissingRole), Err: errRevoked, Hint: "let a signer with the role change sign a commit on top",
		}
	}
	record := accepted.record(base.sequence + 1)
	durable := func() error { return in.record(ctx, accepted, record, base) }
	if in.dryRun {
		durable = func() error { in.dryRunTop = &record; return nil }
	} else if err := in.source.Keep(ctx, head); err != nil {
		return fmt.Errorf("keep %.7s: %w", head, err)
	}
	if err := in.bringIntoForce(ctx, accepted, seen, durable); err != nil {
		return err
	}
	in.checkedBy, in.floorDue, in.revoked = policy, true, false
	in.raiseFloor(ctx, record)
	return nil
}

// signedByChanger reports whether a signer with the role change signed one of the revision's commits.
func signedByChanger(rev verify.Revision) bool {
	return slices.ContainsFunc(rev.Commits(), func(c verify.SignedCommit) bool { return slices.Contains(c.Roles, verify.RoleChange) })
}

// check verifies a head and reads its manifests. It returns the policy that it used.
func (in *Intake) check(ctx context.Context, head gitsource.ID, base verify.Base) (Accepted, *verify.Policy, error) {
	policy, err := in.policy()
	if err != nil {
		return Accepted{}, nil, err
	}
	started := time.Now()
	repo := in.source.Repository()
	rev, err := policy.Check(ctx, repo, head, base)
	outcome := report.VerifyOutcome{Duration: time.Since(started)}
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
