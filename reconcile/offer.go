package reconcile

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/queue"
)

// offer hands every guest with a released step, or with an open step of an earlier run, to its lane.
func (e *Engine) offer(ctx context.Context, planned plan.Plan) {
	e.claimWaits = false
	state := e.opts.Journal.State()
	basis := e.basis.Load()
	retries := e.retryClaim && basis.NoWrites == gate.StopUnclaimed
	if e.retryClaim = false; retries {
		allowed := *basis
		allowed.NoWrites = gate.WritesAllowed
		basis = &allowed
	}
	now := time.Now()
	judge := basis.Gate(state, now)
	work := make(map[int]queue.Work)
	for _, open := range state.Open {
		if basis.NoWrites == gate.WritesAllowed || basis.NoWrites == gate.StopNoRevision {
			work[open.VMID] = queue.Work{Holds: []int{open.VMID, cmp.Or(open.TaskVMID, open.VMID)}, Uses: []queue.Resource{{Node: open.Node}}}
		}
	}
	for _, p := range planned.Guests {
		if step, _, ok := judge.Next(p); ok && p.Ref.VMID != 0 {
			w := work[p.Ref.VMID]
			work[p.Ref.VMID] = queue.Work{Holds: append(w.Holds, step.Holds()...), Uses: append(w.Uses, step.Uses()...)}
		}
	}
	for vmid := range work {
		if e.queue.Busy(vmid) || !e.track(guest.Ref{VMID: vmid}).mayRun(now) {
			delete(work, vmid)
		}
	}
	e.waiting = waitingWork{epoch: e.epoch, order: inPlanOrder(planned, work), work: work}
	switch {
	case len(work) > 0 || e.claimDue():
		e.prepare(ctx)
	case retries:
		e.claimErr = nil // nothing needs the claim any more
	}
}

// waitingWork is released work that is offered as soon as this process is the confirmed writer.
type waitingWork struct {
	epoch epoch.Number
	order []int
	work  map[int]queue.Work
}

// offerWaiting offers the newest released work. Work of an epoch that has ended is dropped: the next cycle plans it again.
func (e *Engine) offerWaiting(ctx context.Context) {
	waiting := e.waiting
	e.waiting = waitingWork{}
	if waiting.epoch != e.epoch {
		return
	}
	for _, vmid := range waiting.order {
		w := waiting.work[vmid]
		slices.Sort(w.Holds)
		w.VMID, w.Holds, w.Uses = vmid, slices.Compact(w.Holds), queue.CompactResources(w.Uses)
		w.Run = func(ctx context.Context) { e.lanes.post(e.worker.Work(ctx, vmid, w.Uses)) }
		e.queue.Offer(ctx, w)
	}
}

// inPlanOrder returns the vmids with work in the order of the plan, after those that the plan does not contain.
func inPlanOrder(planned plan.Plan, work map[int]queue.Work) []int {
	var vmids, inPlan []int
	for _, p := range planned.Guests {
		if _, ok := work[p.Ref.VMID]; ok {
			inPlan = append(inPlan, p.Ref.VMID)
		}
	}
	for vmid := range work {
		if !slices.Contains(inPlan, vmid) {
			vmids = append(vmids, vmid)
		}
	}
	slices.Sort(vmids)
	return append(vmids, inPlan...)
}
