package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/writer"
)

// offer hands every guest with a released step, or with an open step of an earlier run, to its lane.
func (e *Engine) offer(ctx context.Context, planned plan.Plan) {
	e.lease.claimWaits = false
	state := e.opts.Journal.State()
	basis := e.basis.Load()
	retries := e.lease.retryClaim && basis.NoWrites == reason.StopUnclaimed
	if e.lease.retryClaim = false; retries {
		allowed := *basis
		allowed.NoWrites = reason.WritesAllowed
		basis = &allowed
	}
	now := time.Now()
	judge := basis.Gate(state, now)
	work := make(map[object.Key]queue.Work)
	for _, open := range state.Open {
		if basis.NoWrites == reason.WritesAllowed || basis.NoWrites == reason.StopNoRevision {
			work[open.Key()] = queue.Work{Holds: []object.Key{open.Key(), cmp.Or(object.Guest(open.TaskVMID), open.Key())}, Uses: []queue.Resource{{Node: open.Node}}}
		}
	}
	for _, p := range planned.Guests {
		if step, _, ok := judge.Next(p); ok && (p.Ref.VMID != 0 || !p.Ref.Kind.IsGuest()) {
			w := work[keyOf(p.Ref)]
			work[keyOf(p.Ref)] = queue.Work{Holds: append(w.Holds, step.Holds()...), Uses: append(w.Uses, e.usesOf(p, step, judge)...)}
		}
	}
	e.leaveAlone(work, state, now)
	for key := range work {
		if e.queue.Busy(key) || !e.trackOf(key).mayRun(now) {
			delete(work, key)
		}
	}
	e.lease.waiting = waitingWork{epoch: e.revision.epoch, order: inPlanOrder(planned, work), work: work}
	switch {
	case len(work) > 0 || e.claimDue():
		e.prepare(ctx)
	case retries:
		e.lease.claimErr = nil // nothing needs the claim any more
	}
}

// usesOf returns what the next turn of an object may use: what its next step uses. The turn of an Image that failed the last time goes on after a failure, and
// may use what any released step uses.
func (e *Engine) usesOf(p plan.Guest, next plan.Step, judge gate.Gate) []queue.Resource {
	if p.Ref.Kind != image.Kind || e.trackOf(keyOf(p.Ref)).failed == nil {
		return next.Uses()
	}
	var uses []queue.Resource
	for _, step := range p.Steps {
		if !judge.Judge(step).Held {
			uses = append(uses, step.Uses()...)
		}
	}
	return uses
}

// offerWaiting offers the newest released work. Work of an epoch that has ended is dropped: the next cycle plans it again.
func (e *Engine) offerWaiting(ctx context.Context) {
	waiting := e.lease.waiting
	e.lease.waiting = waitingWork{}
	if waiting.epoch != e.revision.epoch {
		return
	}
	for _, key := range waiting.order {
		w := waiting.work[key]
		slices.SortFunc(w.Holds, object.Key.Compare)
		w.Key, w.Holds, w.Uses = key, slices.Compact(w.Holds), queue.CompactResources(w.Uses)
		w.Run = func(ctx context.Context) { e.lanes.post(e.worker.Work(ctx, key, w.Uses)) }
		e.queue.Offer(ctx, w)
	}
}

// inPlanOrder returns the objects with work in the order of the plan, after those that the plan does not contain.
func inPlanOrder(planned plan.Plan, work map[object.Key]queue.Work) []object.Key {
	var others, inPlan []object.Key
	for _, p := range planned.Guests {
		if _, ok := work[keyOf(p.Ref)]; ok {
			inPlan = append(inPlan, keyOf(p.Ref))
		}
	}
	for key := range work {
		if !slices.Contains(inPlan, key) {
			others = append(others, key)
		}
	}
	slices.SortFunc(others, object.Key.Compare)
	return append(others, inPlan...)
}

// prepare asks whether the cluster may be written to, makes this process the writer of the cluster before work is offered, and reads the mark in the
// cluster again if it already is the writer. All of it runs beside the engine.
func (e *Engine) prepare(ctx context.Context) {
	e.errands.run(report.ComponentClaim, func() func() {
		ready := e.opts.Cluster.Ready(ctx)
		var claim error
		if ready == nil {
			claim = e.lease.writer.Claim(ctx)
		}
		return func() {
			if ctx.Err() == nil {
				e.prepared(ctx, ready, claim)
			}
		}
	})
}

// prepared offers the work that waits if the cluster is ready and this process is its writer. If that has changed, a cycle follows, which reports it. While
// the claim waits, claimTimer causes the cycle in which the wait has ended.
func (e *Engine) prepared(ctx context.Context, ready, claim error) {
	before := e.basis.Load().NoWrites
	e.readings.readyErr = ready
	e.lease.claimErr, e.lease.claimWaits = claim, false
	e.lease.readWriter()
	e.readings.proxmox = e.readings.state()
	switch s := e.lease.writer.State(); {
	case ready != nil:
	case claim != nil:
		e.log.WarnContext(ctx, "cluster not claimed, nothing is written to it", "error", claim)
		if errors.Is(claim, cluster.ErrDenied) {
			e.lease.claimErr = fmt.Errorf("%w: give the token Pool.Audit and Pool.Allocate on /pool/%s; gitops-agent config check --cluster prints the commands", claim, writer.Pool)
		}
	case s.Standing == writer.Claimed:
		e.lease.claimWaits = true
		e.lease.claimTimer.Reset(time.Until(s.WaitEnds))
	}
	now, _ := e.lease.Plan(&e.revision, &e.readings)
	if now != before {
		e.setBasis(e.basis.Load().Waits)
	}
	if now == reason.WritesAllowed && e.lease.writer.State().Standing == writer.Confirmed {
		e.offerWaiting(ctx)
	}
	if now != before && !e.errands.inline {
		e.cycle(ctx)
	}
}

// claimDue reports whether the cluster has to be claimed also without work: a person asked for it.
func (e *Engine) claimDue() bool {
	if !e.opts.TakeOver || e.basis.Load().NoWrites != reason.WritesAllowed {
		return false
	}
	s := e.lease.writer.State()
	return s.TakeOver || s.Standing == writer.Claimed
}

// watchWriter reads the mark in the cluster again if nothing has read it for a resync, so that an agent without work notices that another one has claimed.
// It runs beside the engine, in place of prepare: work that begins to wait meanwhile is prepared afterwards. A failed reading changes nothing.
func (e *Engine) watchWriter(ctx context.Context) {
	s := e.lease.writer.State()
	if e.errands.inline || e.lease.closing || s.Standing == writer.Superseded || e.readings.listErr != nil || s.ReadAt.IsZero() || time.Since(s.ReadAt) < e.opts.Resync {
		return
	}
	e.errands.run(report.ComponentClaim, func() func() {
		_, _ = e.lease.writer.Read(ctx) // the writer keeps what it learns
		return func() {
			switch {
			case ctx.Err() != nil:
			case e.lease.writer.State().Standing == writer.Superseded:
				e.cycle(ctx)
			case len(e.lease.waiting.work) > 0 || e.claimDue():
				e.prepare(ctx)
			}
		}
	})
}

// An agent that has taken over leaves objects with open steps alone until Options.Quiet: the agent before may have been stopped between the last check of a
// call and the call itself, and sends the call when it goes on. Afterwards the steps are settled as after a crash.

// quietTimer returns a timer that fires when the time is over. Without open steps, or without such a time, it never fires.
func (e *Engine) quietTimer(ctx context.Context) *time.Timer {
	left := time.Until(e.opts.Quiet)
	open := len(e.opts.Journal.State().Open)
	timer := time.NewTimer(max(left, 0))
	if left <= 0 || open == 0 {
		timer.Stop()
		return timer
	}
	e.log.InfoContext(ctx, "guests with open steps of the agent before are left alone", "steps", open, "for", left.Round(time.Second))
	return timer
}

// leaveAlone removes the work on objects that an open step concerns.
func (e *Engine) leaveAlone(work map[object.Key]queue.Work, state journal.State, now time.Time) {
	if !now.Before(e.opts.Quiet) {
		return
	}
	concerned := map[object.Key]bool{}
	for _, open := range state.Open {
		concerned[open.Key()], concerned[cmp.Or(object.Guest(open.TaskVMID), open.Key())] = true, true
	}
	for key, w := range work {
		if concerned[key] || slices.ContainsFunc(w.Holds, func(held object.Key) bool { return concerned[held] }) {
			delete(work, key)
		}
	}
}

// waitsEvery is how much longer than its last record says a step must have been open until the next record.
const waitsEvery = time.Minute

// noteWaits journals how long steps have been open, so that the next process continues their waits. A wait that is not written begins again there.
func (e *Engine) noteWaits(ctx context.Context, by time.Duration) {
	if e.opts.Journal.Healthy() != nil || e.opts.DryRun {
		return
	}
	if err := e.worker.NoteWaits(ctx, by); err != nil {
		e.log.WarnContext(ctx, "journal not written", "error", err)
	}
}
