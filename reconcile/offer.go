package reconcile

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/reason"
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
