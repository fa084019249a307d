package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/queue"
)

func isOpen(state journal.State, vmid int) bool {
	return slices.ContainsFunc(state.Open, func(o journal.OpenStep) bool { return o.VMID == vmid })
}

// offer gives every guest with a released step, or with a step left open by an earlier life, to its lane.
func (e *Engine) offer(ctx context.Context, planned plan.Plan) {
	state := e.opts.Journal.State()
	world := e.world.Load()
	now := time.Now()
	judge := world.Gate(state, now)
	work := make(map[int]queue.Work)
	for _, open := range state.Open {
		if world.NoWrites == gate.WritesAllowed || world.NoWrites == gate.StopNoRevision {
			work[open.VMID] = queue.Work{Holds: []int{open.VMID, cmp.Or(open.TaskVMID, open.VMID)}, Uses: []queue.Shared{{Node: open.Node}}}
		}
	}
	for _, p := range planned.Guests {
		if step, _, ok := judge.Next(p); ok && p.Ref.VMID != 0 {
			w := work[p.Ref.VMID]
			work[p.Ref.VMID] = queue.Work{Holds: append(w.Holds, step.Holds()...), Uses: append(w.Uses, step.Uses()...)}
		}
	}
	for vmid := range work {
		if t := e.track(guest.Ref{VMID: vmid}); e.queue.Busy(vmid) || !t.retry.over(now) || t.flaps.overLimit(now) {
			delete(work, vmid)
		}
	}
	if len(work) == 0 || !e.ready(ctx) {
		return
	}
	for _, vmid := range order(planned, work) {
		w := work[vmid]
		slices.Sort(w.Holds)
		w.VMID, w.Holds, w.Uses = vmid, slices.Compact(w.Holds), queue.CompactShared(w.Uses)
		w.Run = func(ctx context.Context) { e.lanes.post(e.worker.Work(ctx, vmid, w.Uses)) }
		e.queue.Offer(ctx, w)
	}
}

// order returns the vmids with work in the plan's order, and those of no plan first.
func order(planned plan.Plan, work map[int]queue.Work) []int {
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

// ready asks the cluster, before a wave of work, whether it may be written to.
func (e *Engine) ready(ctx context.Context) bool {
	err := e.opts.Cluster.Ready(ctx)
	if err == nil {
		return true
	}
	e.clusterErr = fmt.Errorf("not ready for writes: %w", err)
	e.proxmox.Ready, e.proxmox.Error = false, e.clusterErr.Error()
	e.setWorld(e.world.Load().Waits)
	return false
}
