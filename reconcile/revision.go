package reconcile

import (
	"context"
	"errors"
	"strings"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/gitsource/fault"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/history"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// revision tracks which revision is in force, and the source that it comes from. It belongs to the engine's goroutine, except for epochs and tellFetched.
type revision struct {
	intake  *intake.Intake
	epochs  epoch.Counter
	fetched chan fetchedHead // newest head that is not taken yet
	journal *journal.Journal
	remotes func() []gitsource.RemoteStatus
	doubt   func() error // Options.RootDoubt; nil if there is none
	events  *event.Sink
	said    *event.Subject

	force       intake.InForce
	epoch       epoch.Number // the newest epoch that the engine has seen; lanes work in it
	resuming    bool         // the accepted revision of the journal is being verified again, after the start
	source      report.Source
	fetchErr    error // the error that source.Error shows
	unread      error // why the newest poll could not check the head: the floor or the policy could not be read
	convergence convergence
}

// fetchedHead is a head of the branch that was fetched and may not be checked yet.
type fetchedHead struct {
	commit gitsource.ID
	at     time.Time
}

// convergence states whether the guests match the revision in force.
type convergence struct {
	now    bool      // in this cycle, and the revision in force is the newest one
	inSync bool      // in this cycle, whether or not there is a newer revision
	since  time.Time // when all guests of the revision were in sync for the first time; zero while they were not
}

// begin makes the tracker ready. The intake uses the writer and the epochs, so it comes afterwards.
func (r *revision) begin(opts Options, events *event.Sink) {
	r.epoch, r.fetched, r.journal, r.events, r.said = r.epochs.Now(), make(chan fetchedHead, 1), opts.Journal, events, events.Subject().ReadEvery(opts.Poll)
	r.source = report.Source{Branch: opts.Branch, Reason: fault.Unread}
	r.said.Assume(event.SourceLost, event.ID{string(fault.Unread)})
	r.remotes, r.doubt = opts.Source.Remotes, opts.RootDoubt
}

// Begin notes for a cycle whether the trusted root has expired.
func (r *revision) Begin(now time.Time) { r.readRoot(now) }

// waitsForJournal reports whether the newest poll could not accept the head because of the journal alone.
func (r *revision) waitsForJournal() bool { return errors.As(r.unread, new(*intake.JournalError)) }

// Report prints the source, the revision in force, and whether the guests match it.
func (r *revision) Report(out *report.Report) {
	out.Source, out.Converged = r.source, r.convergence.now
	if r.doubt != nil {
		if err := r.doubt(); err != nil {
			out.Source.RootError = err.Error()
		}
	}
	for _, remote := range r.remotes() {
		out.Source.Remotes = append(out.Source.Remotes, remoteReport(remote))
	}
	out.Source.Accepted = r.accepted(r.journal.State())
}

// accepted describes the revision in force. While none is in force, it describes the one in the journal.
func (r *revision) accepted(state journal.State) *report.Revision {
	if !r.force.Accepted.Valid() {
		if state.Accepted == nil {
			return nil
		}
		a := state.Accepted
		return &report.Revision{Commit: a.Commit, Subject: a.Subject, Issuer: a.Issuer, ProvenTime: a.ProvenTime, AcceptedAt: state.AcceptedAt}
	}
	rev := r.force.Accepted.Revision()
	out := &report.Revision{
		Commit: string(rev.Commit()), Revision: rev.String(), Subject: rev.Signer().Subject, Issuer: rev.Signer().Issuer,
		ProvenTime: rev.ProvenTime(), AcceptedAt: r.force.Since, Warnings: append(r.force.Accepted.Warnings(), guard.PolicyWarnings(state)...),
	}
	if r.convergence.inSync {
		out.Converged = r.convergence.since
	}
	if state.Accepted != nil && state.Accepted.Commit == out.Commit {
		out.AcceptedAt = state.AcceptedAt
	}
	return out
}

// remoteReport prints the state of a remote.
func remoteReport(s gitsource.RemoteStatus) report.Remote {
	r := report.Remote{URL: s.URL, State: report.RemoteState(s.State), Since: s.Since, Answered: s.Answered}
	if s.Err != nil {
		r.Reason, r.Error = s.Fault, s.Err.Error()
	}
	return r
}

// unchecked returns why it is unknown which revision is in force: the floor of accepted revisions, or the policy, could not be read yet. Nil means that it
// is known, or that none was ever accepted.
func (r *revision) unchecked() error {
	switch {
	case r.resuming && r.journal.State().Accepted != nil:
		return errResuming
	case intake.IsUnchecked(r.force.Unverified):
		return r.force.Unverified
	case !r.force.Accepted.Valid():
		return r.unread
	}
	return nil
}

var errResuming = errors.New("the accepted revision is being verified again after the start")

// readRoot notes whether the trusted root has expired, so that no new signature can be verified, and whether a newer root has replaced it.
func (r *revision) readRoot(now time.Time) {
	end := r.source.RootExpires
	r.source.RootExpired = !end.IsZero() && end.Before(now)
	r.said.Is(event.RootExpired, r.source.RootExpired, event.ID{}, func() event.Details {
		return event.Details{Fields: []any{"expired", end}}
	}, func(event.ID) event.Details { return event.Details{Fields: []any{"expires", end}} })
}

// noteSource states whether the branch can be fetched, and why not.
func (r *revision) noteSource(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	s := &r.source
	r.said.Is(event.SourceLost, s.Reason != fault.None, event.ID{string(s.Reason)}, func() event.Details {
		return event.Details{Fields: []any{"reason", string(s.Reason), "error", s.Error}}
	}, func(event.ID) event.Details { return event.Details{Fields: []any{"remote", s.Remote}} })
}

// tellFetched hands a head to the engine's goroutine without waiting. The result of the poll names it too.
func (r *revision) tellFetched(head gitsource.ID, at time.Time) {
	select {
	case r.fetched <- fetchedHead{head, at}:
	default:
	}
}

// noteHead notes a head, and returns whether it is new.
func (r *revision) noteHead(h fetchedHead) bool {
	if r.source.Head == string(h.commit) {
		return false
	}
	r.source.Head, r.source.HeadSeen = string(h.commit), h.at
	return true
}

// refuse notes the refusal of a head, nil if the head was not refused. It tells each refusal once, and its end, unless another event has told that.
func (r *revision) refuse(now *report.Refused, toldEnd bool) {
	if now == nil {
		r.source.Refused = nil
		r.end(event.RevisionRefused, toldEnd)
		return
	}
	if old := r.source.Refused; old != nil && old.Commit == now.Commit && old.Reason == now.Reason {
		now.Since = old.Since
	}
	r.source.Refused = now
	r.said.Is(event.RevisionRefused, true, event.ID{now.Commit, now.Reason}, func() event.Details {
		return event.Details{
			Fields:  []any{"commit", now.Commit, "reason", now.Reason, "error", now.Error, "hint", now.Hint},
			Outcome: *now, Note: event.Note{Revision: now.Commit, Message: now.Reason, Detail: history.Clip(now.Error), Hint: now.Hint},
		}
	}, nil)
}

// end ends a state of a head. It is not told if another event has told it.
func (r *revision) end(state event.Name, toldEnd bool) {
	if toldEnd {
		r.said.Drop(state)
		return
	}
	r.said.Is(state, false, event.ID{}, nil, nil)
}

// wait notes what a head waits for, nil if it waits for nothing. It tells each wait once, and its end, unless another event has told that.
func (r *revision) wait(w *report.WaitingHead, toldEnd bool) {
	if w == nil {
		r.source.Waiting = nil
		r.end(event.RevisionWaiting, toldEnd)
		return
	}
	if old := r.source.Waiting; old != nil && old.Commit == w.Commit && old.Reason == w.Reason {
		w.Since = old.Since
	}
	r.source.Waiting = w
	r.said.Is(event.RevisionWaiting, true, event.ID{w.Commit, w.Reason}, func() event.Details {
		return event.Details{Fields: []any{"commit", w.Commit, "reason", w.Reason, "error", w.Text(), "hint", w.Hint}}
	}, nil)
}

// pass notes the commits above the candidate, nil if there are none, and tells once of those that no agent follows.
func (r *revision) pass(ahead *report.Ahead, toldEnd bool) {
	r.source.Ahead = ahead
	if ahead == nil || len(ahead.Unknown) == 0 {
		r.end(event.RevisionUnnamed, toldEnd)
		return
	}
	r.said.Is(event.RevisionUnnamed, true, event.ID{ahead.Commit}, func() event.Details {
		return event.Details{Fields: []any{"commit", ahead.Commit, "targets", strings.Join(ahead.Unknown, ", "), "hint", ahead.Hint}}
	}, nil)
}

// noteConvergence notes whether all guests match the revision in force, and whether it is the newest one. It tells convergence once for a revision, also if a newer head is
// refused or the remote does not answer.
func (r *revision) noteConvergence(inSync, clusterReady, clocksDiffer bool, now time.Time) {
	c := &r.convergence
	c.inSync = inSync
	c.now = inSync && r.source.Refused == nil && r.source.Waiting == nil && r.source.Error == "" && r.unread == nil && clusterReady
	if !inSync || !clusterReady || !c.since.IsZero() {
		return
	}
	c.since = now
	if r.force.Resumed {
		return // an earlier run told it, or its duration is unknown
	}
	rev := r.force.Accepted.Revision()
	total, sinceProof := now.Sub(r.force.Seen), max(0, now.Sub(rev.ProvenTime()))
	if clocksDiffer { // the signing time is that of another clock
		sinceProof = -1
	}
	r.events.Happened(event.RevisionConverged, event.Details{
		Fields: []any{"revision", rev.String(), "duration", total},
		Outcome: report.ConvergedOutcome{
			Revision: rev.String(), Total: total, SinceProof: sinceProof, Verify: r.force.Since.Sub(r.force.Seen), Apply: now.Sub(r.force.Since),
		},
		Note: event.Note{Revision: rev.String()},
	})
}
