package reconcile

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/report"
)

// cycleDeadline is how long a cycle waits for replies that it has asked for. Afterwards it goes on with what is known, and the report names what is late.
const cycleDeadline = 5 * time.Second

// rounds are the readings of the cluster as the engine sees them: it begins rounds, goes on without waiting, and runs a cycle when a round has ended or
// its deadline is over.
type rounds struct {
	began    time.Time // of the newest round; zero if it has ended
	due      bool      // another round begins when the present one has ended
	deadline *time.Timer
}

// isLate reports whether the newest round has not ended within its deadline.
func (r *rounds) isLate(now time.Time) bool {
	return !r.began.IsZero() && now.Sub(r.began) >= cycleDeadline
}

// beginRound starts a round of readings. While one is under way, it begins when that one has ended; while that one is late, it begins now if the list of
// guests answered. It returns whether a cycle follows by itself; if not, the caller runs one with what is known.
func (e *Engine) beginRound(ctx context.Context) bool {
	now := time.Now()
	if !e.rounds.began.IsZero() && !e.rounds.isLate(now) {
		e.rounds.due = true
		return true
	}
	if !e.observer.Begin(ctx, observe.Request{
		Files: e.filePlaces(), Objects: e.objectReads(), VMIDs: e.vmids(), Further: e.templates(), UnderHA: observe.UnderHA(e.guests), Firewalls: observe.Firewalls(e.guests), Ready: e.readyErr != nil || !e.errands.inline,
		Snapshots: e.basis.Load().NeedSnapshots(e.opts.Journal.State(), now),
	}) {
		return false // the list of guests hangs
	}
	e.rounds.began, e.rounds.due = now, false
	e.rounds.deadline.Reset(cycleDeadline)
	return true
}

// takeReadings processes the replies that have arrived. It returns whether the round has ended.
func (e *Engine) takeReadings(ctx context.Context) (ended bool) {
	p := e.observer.Take(ctx)
	if p.AskedReady {
		e.readyErr = p.ReadyErr
	}
	if p.Listed {
		e.noteList(nil)
	}
	if !p.Ended {
		return false
	}
	e.rounds.began = time.Time{}
	e.rounds.deadline.Stop()
	if p.Err != nil {
		e.noteList(p.Err)
		e.observer.Doubt(time.Now(), p.Err)
	}
	e.retryClaim = p.Err == nil && e.claimErr != nil
	e.noteTrouble(e.observer.Trouble())
	return true
}

// roundEnded runs what follows from a complete round: vmids for guests without one, and a cycle.
func (e *Engine) roundEnded(ctx context.Context) {
	if e.rounds.due && e.listErr == nil {
		e.rounds.due = false
		if e.beginRound(ctx) {
			return
		}
	}
	if e.listErr == nil && e.mayWrite() && e.assignVMIDs(ctx) {
		return // its end causes the cycle
	}
	e.cycle(ctx)
}

// observe reads the cluster and waits for all of it, and assigns vmids to guests without one.
func (e *Engine) observe(ctx context.Context) {
	e.beginRound(ctx)
	for ended := false; !ended; {
		<-e.observer.Bell()
		ended = e.takeReadings(ctx)
	}
	if e.listErr == nil && e.mayWrite() {
		e.assignVMIDs(ctx)
	}
}

// noteList notes whether the list of guests could be read.
func (e *Engine) noteList(err error) {
	if e.listErr = err; err == nil {
		e.proxmox.LastSuccess = time.Now()
	}
}

// proxmoxReport returns the state of the cluster for the report.
func (e *Engine) proxmoxReport() report.Proxmox {
	p := report.Proxmox{LastSuccess: e.proxmox.LastSuccess, HAError: e.observer.Trouble().HA, VMList: e.observer.VMListStatus()}
	err := e.clusterErr()
	if p.Reason = cluster.OutageOf(err); err != nil {
		p.Error = err.Error()
	} else if p.LastSuccess.IsZero() {
		p.Reason = cluster.OutageUnread
	}
	p.Ready = p.Reason == cluster.OutageNone
	return p
}

// clusterErr returns why the cluster cannot be worked with, nil if it can.
func (e *Engine) clusterErr() error {
	switch {
	case e.listErr != nil:
		return e.listErr
	case e.readyErr != nil:
		return fmt.Errorf("not ready for writes: %w", e.readyErr)
	}
	return nil
}

// late returns the components that have not answered within the deadline of a cycle.
func (e *Engine) late(now time.Time) []report.Late {
	var list []report.Late
	before := now.Add(-cycleDeadline + 1)
	for _, p := range e.observer.Pending(before) {
		list = append(list, report.Late{Component: componentOf[p.Part], Node: p.Node, Calls: p.Calls, Since: p.Since})
	}
	for _, component := range report.Components() {
		if began, underWay := e.errands.began[component]; underWay && began.Before(before) {
			list = append(list, report.Late{Component: component, Calls: 1, Since: began})
		}
	}
	if began := e.opts.Source.FetchBegan(); !began.IsZero() && began.Before(before) {
		list = append(list, e.lateSource(began))
	}
	return list
}

// lateSource describes a fetch of the branch that takes too long, with the remotes that have not served it.
func (e *Engine) lateSource(began time.Time) report.Late {
	late := report.Late{Component: report.ComponentSource, Since: began}
	var names []string
	for _, remote := range e.opts.Source.Remotes() {
		if remote.State != gitsource.RemoteAnswers {
			names, late.Calls = append(names, remote.URL), late.Calls+1
		}
	}
	late.Calls, late.Remote = max(late.Calls, 1), strings.Join(names, ", ")
	return late
}

var componentOf = map[observe.Part]report.Component{
	observe.PartList: report.ComponentList, observe.PartGuests: report.ComponentGuests, observe.PartHA: report.ComponentHA, observe.PartFiles: report.ComponentFiles, observe.PartReady: report.ComponentReady,
}

// doubtLate marks readings as unknown that are too old because the cluster, or a node, does not answer.
func (e *Engine) doubtLate(now time.Time) {
	for _, late := range e.late(now) {
		switch late.Component {
		case report.ComponentList:
			e.observer.Doubt(now, fmt.Errorf("%w: %s", cluster.ErrNotReady, late.Text(now)))
		case report.ComponentGuests:
			e.observer.DoubtLate(now)
		case report.ComponentHA, report.ComponentFiles, report.ComponentReady, report.ComponentClaim, report.ComponentVMIDs, report.ComponentRevision, report.ComponentSource:
		}
	}
}
