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

// beginRound starts a round of readings. While one is under way, it begins when that one has ended; while that one is late, it begins now if the list of
// guests answered. It returns whether a cycle follows by itself; if not, the caller runs one with what is known.
func (e *Engine) beginRound(ctx context.Context) bool {
	now := time.Now()
	if !e.readings.rounds.began.IsZero() && !e.readings.rounds.isLate(now) {
		e.readings.rounds.due = true
		return true
	}
	if !e.readings.observer.Begin(ctx, observe.Request{
		Files: e.filePlaces(), Objects: e.objectReads(), VMIDs: e.vmids(), Further: e.templates(), UnderHA: observe.UnderHA(e.guests), Firewalls: observe.Firewalls(e.guests), Ready: e.readings.readyErr != nil || !e.errands.inline,
		Snapshots: e.basis.Load().NeedSnapshots(e.opts.Journal.State(), now),
	}) {
		return false // the list of guests hangs
	}
	e.readings.rounds.began, e.readings.rounds.due = now, false
	e.readings.rounds.deadline.Reset(cycleDeadline)
	return true
}

// takeReadings processes the replies that have arrived. It returns whether the round has ended.
func (e *Engine) takeReadings(ctx context.Context) (ended bool) {
	p := e.readings.observer.Take(ctx)
	if p.AskedReady {
		e.readings.readyErr = p.ReadyErr
	}
	if p.Listed {
		e.readings.noteList(nil)
	}
	if !p.Ended {
		return false
	}
	e.readings.rounds.began = time.Time{}
	e.readings.rounds.deadline.Stop()
	if p.Err != nil {
		e.readings.noteList(p.Err)
		e.readings.observer.Doubt(time.Now(), p.Err)
	}
	e.lease.retryClaim = p.Err == nil && e.lease.claimErr != nil
	e.readings.noteTrouble(e.readings.observer.Trouble())
	return true
}

// roundEnded runs what follows from a complete round: vmids for guests without one, and a cycle.
func (e *Engine) roundEnded(ctx context.Context) {
	if e.readings.rounds.due && e.readings.listErr == nil {
		e.readings.rounds.due = false
		if e.beginRound(ctx) {
			return
		}
	}
	if e.readings.listErr == nil && e.lease.mayWrite(e.revision.force) && e.assignVMIDs(ctx) {
		return // its end causes the cycle
	}
	e.cycle(ctx)
}

// observe reads the cluster and waits for all of it, and assigns vmids to guests without one.
func (e *Engine) observe(ctx context.Context) {
	e.beginRound(ctx)
	for ended := false; !ended; {
		<-e.readings.observer.Bell()
		ended = e.takeReadings(ctx)
	}
	if e.readings.listErr == nil && e.lease.mayWrite(e.revision.force) {
		e.assignVMIDs(ctx)
	}
}

// late returns the components that have not answered within the deadline of a cycle.
func (e *Engine) late(now time.Time) []report.Late {
	var list []report.Late
	before := now.Add(-cycleDeadline + 1)
	for _, p := range e.readings.observer.Pending(before) {
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
	observe.PartDatacenter: report.ComponentDatacenter, observe.PartObjects: report.ComponentObjects,
}

// doubtLate marks readings as unknown that are too old because the cluster, or a node, does not answer.
func (e *Engine) doubtLate(now time.Time) {
	for _, late := range e.late(now) {
		switch late.Component {
		case report.ComponentList:
			e.readings.observer.Doubt(now, fmt.Errorf("%w: %s", cluster.ErrNotReady, late.Text(now)))
		case report.ComponentGuests:
			e.readings.observer.DoubtLate(now)
		case report.ComponentHA, report.ComponentFiles, report.ComponentDatacenter, report.ComponentObjects, report.ComponentReady, report.ComponentClaim, report.ComponentVMIDs, report.ComponentBoots, report.ComponentLocks, report.ComponentSnapshots, report.ComponentRevision, report.ComponentSource:
		}
	}
}
