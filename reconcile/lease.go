package reconcile

import (
	"errors"
	"fmt"
	"time"

	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/writer"
)

// lease tracks whether this process may write: it is the writer of the cluster, or follows another agent; its journal and state directory are as it left them;
// and no person has paused it. It belongs to the engine's goroutine, except for mayCall.
type lease struct {
	writer  *writer.Writer
	journal *journal.Journal
	refused func() error // Options.Refused
	pause   pause.File
	standby string // why this agent only follows; "" leads
	dryRun  bool
	said    *event.Subject

	state    writer.State // in this cycle
	gone     error        // why the state directory is not the one that this process locked; nil if it is
	readOnly error        // why the state directory takes no writes; nil if it does
	isPaused bool
	paused   pause.Note // while isPaused
	closing  bool

	claimErr   error       // why the cluster could not be claimed
	retryClaim bool        // the next offer of work claims in spite of claimErr
	waiting    waitingWork // released work that waits for the claim
	claimWaits bool        // work waits for the end of a claim's wait
	claimTimer *time.Timer // runs while claimWaits
}

func newLease(opts Options, events *event.Sink) lease {
	l := lease{
		writer: writer.New(writer.Options{
			Keeper: opts.Floors, Journal: opts.Journal, Wait: opts.Wait, TakeOver: opts.TakeOver, DryRun: opts.DryRun,
		}),
		journal: opts.Journal, refused: opts.Refused, pause: opts.Pause, standby: opts.Standby, dryRun: opts.DryRun, said: events.Subject().ReadEvery(opts.Tick), claimTimer: time.NewTimer(time.Hour),
	}
	l.claimTimer.Stop()
	l.said.Assume(event.WritesStopped, event.ID{string(reason.StopNoRevision)})
	return l
}

// waitingWork is released work that is offered as soon as this process is the confirmed writer.
type waitingWork struct {
	epoch epoch.Number
	order []object.Key
	work  map[object.Key]queue.Work
}

// Begin reads for a cycle what stops this process from writing.
func (l *lease) Begin(now time.Time) {
	l.readPause(now)
	l.readPresence()
	l.readWriter()
}

// Plan returns why nothing may be written to the cluster now. An agent that follows another one reports what would keep it from writing as the leader, and
// that it is a standby only if it could take over.
func (l *lease) Plan(force *revision, cluster *readings) (reason.Stop, string) {
	switch err := l.journalErr(); {
	case l.closing:
		return reason.StopClosing, "the agent is stopping"
	case l.gone != nil:
		return reason.StopStateDirectory, l.gone.Error() + "; " + reason.RestoreStateDirectory.Text
	case err != nil:
		return reason.StopJournal, err.Error()
	case l.state.Standing == writer.Superseded && l.standby == "":
		return reason.StopSuperseded, supersededReason(l.state)
	case force.unchecked() != nil:
		return uncheckedStop(cluster.err(), force.unchecked())
	case force.force.Unverified != nil:
		return reason.StopUnverified, force.force.Unverified.Error()
	case !force.force.Accepted.Valid():
		return reason.StopNoRevision, "no revision was accepted yet"
	case l.dryRun && l.standby == "":
		return reason.StopDryRun, "started with --dry-run"
	case l.isPaused:
		return reason.StopPaused, l.paused.String()
	case !cluster.proxmox.Ready:
		return reason.StopNotReady, cluster.proxmox.Error
	case l.standby != "":
		return reason.StopStandby, l.standby
	case l.claimErr != nil:
		return reason.StopUnclaimed, l.claimErr.Error()
	}
	return reason.WritesAllowed, ""
}

// uncheckedStop returns the reason not to write that fits an error of unchecked. While the cluster does not answer, that is the reason: the floor is read
// from it.
func uncheckedStop(cause, err error) (reason.Stop, string) {
	var policy *intake.PolicyError
	switch {
	case errors.As(err, &policy):
		return reason.StopPolicy, err.Error()
	case cause != nil:
		return reason.StopNotReady, cause.Error()
	}
	return reason.StopUnchecked, err.Error()
}

// journalErr returns why the journal takes no records, or would take none of this agent as the leader; nil if it does.
func (l *lease) journalErr() error {
	err := l.journal.Healthy()
	if err == nil {
		err = l.readOnly
	}
	if err == nil && l.refused != nil {
		err = l.refused()
	}
	return err
}

// mayWrite reports whether the journal and the cluster may be written to, apart from the state of the cluster and a pause.
func (l *lease) mayWrite(force intake.InForce) bool {
	return force.Accepted.Valid() && !l.dryRun && l.journalErr() == nil && l.gone == nil && force.Unverified == nil &&
		l.state.Standing != writer.Superseded
}

// Tell states whether this process may write, as lanes were told, and whether its journal takes records.
func (l *lease) Tell(basis *lane.Basis) {
	l.noteWrites(basis)
	l.noteJournal()
}

// Report prints whether anything may be written, as lanes were told.
func (l *lease) Report(out *report.Report, basis *lane.Basis) {
	out.Writes = report.Writes{Allowed: basis.NoWrites == reason.WritesAllowed, Reason: basis.NoWrites, Message: basis.Why}
	if l.isPaused {
		note := l.paused
		out.Writes.Paused = &note
	}
}

// noteWrites states whether anything may be written to the cluster, and why not.
func (l *lease) noteWrites(b *lane.Basis) {
	l.said.Is(event.WritesStopped, b.NoWrites != reason.WritesAllowed, event.ID{string(b.NoWrites)}, func() event.Details {
		return event.Details{Fields: []any{"reason", string(b.NoWrites), "why", b.Why}}
	}, func(event.ID) event.Details { return event.Details{Fields: []any{"revision", b.Revision}} })
}

// noteJournal states whether the journal takes records. Only a start of the agent ends that it does not, but a standby can follow the journal again.
func (l *lease) noteJournal() {
	err := l.journalErr()
	reason := string(journal.FaultOf(err))
	l.said.Is(event.JournalFailed, err != nil, event.ID{reason}, func() event.Details {
		return event.Details{Fields: []any{"reason", reason, "error", err}}
	}, nil)
}

// readPause reads whether a person has paused the agent.
func (l *lease) readPause(now time.Time) {
	note, paused := l.pause.Active(now)
	l.paused, l.isPaused = note, paused
	var id event.ID
	if paused {
		id = event.ID{note.String(), note.Problem}
	}
	l.said.Is(event.AgentPaused, paused, id, func() event.Details {
		return event.Details{
			Fields: []any{"since", note.Since, "until", note.Until, "uid", note.UID, "reason", note.Reason, "problem", note.Problem},
			Note:   event.Note{Message: note.String()},
		}
	}, func(was event.ID) event.Details {
		return event.Details{Note: event.Note{Message: "ends the pause " + was[0]}}
	})
}

// readPresence checks that the state directory is still the one that this process locked, and takes writes. The agent never makes
// the directory or its lock file again while it runs: another agent may use the new directory.
func (l *lease) readPresence() {
	was := l.gone
	l.gone, l.readOnly = l.journal.Present(), l.journal.Writable()
	l.said.Is(event.StateLost, l.gone != nil, event.ID{}, func() event.Details {
		return event.Details{Fields: []any{"error", l.gone, "hint", reason.RestoreStateDirectory.Text}}
	}, func(event.ID) event.Details { return event.Details{Note: event.Note{Message: "after: " + was.Error()}} })
}

// readWriter takes the state of the writer for this cycle.
func (l *lease) readWriter() {
	now := l.writer.State()
	l.state = now
	superseded := now.Standing == writer.Superseded
	l.said.Is(event.AgentSuperseded, superseded, event.ID{}, func() event.Details {
		return event.Details{
			Fields: []any{"writer", now.Other.Number, "nonce", now.Other.Nonce, "own", now.Mark.Number},
			Note:   event.Note{Message: fmt.Sprintf("by writer %d %s", now.Other.Number, now.Other.Nonce)},
		}
	}, nil)
	l.said.Is(event.AgentClaimed, now.Mark != writer.Mark{} && !superseded, event.ID{now.Mark.Nonce, fmt.Sprint(now.Mark.Number)}, func() event.Details {
		return event.Details{Fields: []any{"writer", now.Mark.Number, "nonce", now.Mark.Nonce}}
	}, nil)
}

// changed reports whether the agent was paused or resumed, or whether the state directory was removed or came back, since the last cycle.
func (l *lease) changed() bool {
	note, paused := l.pause.Active(time.Now())
	return paused != l.isPaused || note != l.paused || (l.journal.Present() == nil) != (l.gone == nil)
}

// mayCall returns why nothing may be sent to the cluster at this moment, apart from what the engine knows. It is safe for concurrent use.
func (l *lease) mayCall() error {
	if err := l.journal.Present(); err != nil {
		return err
	}
	return l.pause.Check()
}

// supersededReason describes what a superseded agent reports: why, and what ends it.
func supersededReason(s writer.State) string {
	text := fmt.Sprintf("another agent has claimed this cluster as writer %d", s.Other.Number)
	if s.Mark.Number > 0 {
		text += fmt.Sprintf(" after this one, which was writer %d", s.Mark.Number)
	} else {
		text += ", and this state directory is new, restored or a copy"
	}
	return text + "; stop the other agent if it still runs, and then start this one with gitops-agent run --take-over"
}
