package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// cycle compares what is wanted with what is there, gives the lanes their work and publishes one report, also when it could
// not finish.
func (e *Engine) cycle(ctx context.Context, observe bool) {
	e.cycles++
	if observe {
		e.observe(ctx)
	}
	e.setWorld(e.world.Load().Waits)
	e.tidy(ctx)
	started := time.Now()
	planned := plan.New(e.desired(), e.observer.Snapshot())
	e.opts.Hooks.plan(report.PlanOutcome{Duration: time.Since(started), Steps: countSteps(planned)})
	e.setWorld(plan.NewOrdering(planned, e.guests, e.stuck(), time.Now()).Waits)
	e.offer(ctx, planned)
	e.publish(planned)
}

func countSteps(planned plan.Plan) map[guest.Class]int {
	counts := make(map[guest.Class]int)
	for _, s := range planned.Steps() {
		counts[s.Class]++
	}
	return counts
}

// observe reads the cluster and assigns vmids that are missing.
func (e *Engine) observe(ctx context.Context) {
	err := e.observer.Observe(ctx, e.vmids(), observe.UnderHA(e.guests))
	e.sayDoubts(ctx, e.observer.Doubts())
	if err != nil {
		if e.proxmox.Error == "" && ctx.Err() == nil {
			e.log.WarnContext(ctx, "cluster not observed", "error", err)
		}
		e.proxmox.Error, e.proxmox.Ready, e.clusterErr = err.Error(), false, err
		e.proxmox.VMList = e.observer.List.Report()
		e.observer.Doubt(time.Now(), err)
		return
	}
	if e.proxmox.Error != "" {
		e.log.InfoContext(ctx, "cluster observed again")
	}
	e.proxmox, e.clusterErr = report.Proxmox{
		Ready: true, LastSuccess: time.Now(), HAError: e.observer.HaTrouble, VMList: e.observer.List.Report(),
	}, nil
	if e.mayWrite() {
		e.unassigned = e.allocate(ctx)
	}
}

// sayDoubts logs once when something that observing rests on fails, and when it works again.
func (e *Engine) sayDoubts(ctx context.Context, now observe.ObservingDoubts) {
	said := e.doubts
	if now.List != "" && now.List != said.List {
		e.log.WarnContext(ctx, "list of guests not believed, every guest is read in turn", "path", e.opts.VMList, "reason", now.List)
	}
	if now.List == "" && said.List != "" {
		e.log.InfoContext(ctx, "list of guests believed again", "path", e.opts.VMList)
	}
	if now.Ha != "" && now.Ha != said.Ha {
		e.log.WarnContext(ctx, "HA resources not read", "error", now.Ha)
	}
	e.doubts = now
}

func (e *Engine) mayWrite() bool {
	return e.accepted.Valid() && !e.opts.DryRun && e.opts.Journal.Healthy() == nil && e.unverified == nil
}

func (e *Engine) allocate(ctx context.Context) error {
	if !slices.ContainsFunc(e.guests, func(d guest.Desired) bool { return d.VMID == 0 }) {
		return nil
	}
	defer e.relower()
	return allocate(ctx, e.opts.Cluster, e.opts.Journal, e.accepted.Set.Cluster.VMIDs, e.guests, e.observer.Inventory)
}

func (e *Engine) desired() plan.Desired {
	want := e.world.Load().Desired(e.opts.Journal.State())
	want.Secrets = e.vault.Look(want.Guests)
	return want
}

// vmids returns the guests that matter: those that manifests name, and those that the agent owns or left in the middle of a step.
func (e *Engine) vmids() []int {
	state := e.opts.Journal.State()
	set := make(map[int]bool)
	for _, d := range e.guests {
		set[d.VMID] = true
	}
	for vmid := range state.Owned {
		set[vmid] = true
	}
	delete(set, 0)
	vmids := make([]int, 0, len(set))
	for vmid := range set {
		vmids = append(vmids, vmid)
	}
	slices.Sort(vmids)
	return vmids
}

// setWorld shows the lanes how things stand now.
func (e *Engine) setWorld(waits func(plan.Step) string) {
	w := &lane.Basis{Cluster: e.opts.Scope.Cluster, Inventory: e.observer.Inventory, Waits: waits}
	if e.accepted.Valid() {
		w.Revision, w.Commit = e.accepted.Revision.String(), string(e.accepted.Revision.Commit())
		w.Guests, w.Policies, w.Guards = e.guests, e.policies, e.accepted.Set.Cluster.Guards
	}
	if observed := e.observer.Snapshot(); len(plan.VolumesAtStake(w.Desired(e.opts.Journal.State()), observed)) > 0 {
		w.Seen = maps.Clone(observed.Guests)
	}
	w.NoWrites, w.Why = e.writeStop()
	e.world.Store(w)
}

// writeStop returns why nothing may be written now.
func (e *Engine) writeStop() (gate.WriteStop, string) {
	switch err := e.opts.Journal.Healthy(); {
	case e.closing:
		return gate.StopClosing, "the agent is stopping"
	case err != nil:
		return gate.StopJournal, err.Error()
	case e.unverified != nil:
		return gate.StopUnverified, e.unverified.Error()
	case !e.accepted.Valid():
		return gate.StopNoRevision, "no revision was accepted yet"
	case e.opts.DryRun:
		return gate.StopDryRun, "started with --dry-run"
	case !e.proxmox.Ready:
		return gate.StopNotReady, e.proxmox.Error
	}
	return gate.WritesAllowed, ""
}

// learn takes what the lanes found.
func (e *Engine) learn() {
	now := time.Now()
	for _, f := range e.lanes.empty() {
		e.observer.Learn(observe.Sighting{Vmid: f.Vmid, Seen: f.Seen, Absence: f.Absence, Again: f.Steps > 0 || f.Err != nil})
		t := e.track(guest.Ref{VMID: f.Vmid})
		if f.Steps > 0 {
			t.warned = f.Warned
		}
		if f.Err == nil && f.Steps > 0 {
			t.flaps = t.flaps.add(now, workCost(f.Heavy))
		}
		if f.Err == nil {
			t.retry, t.failed, t.failedStep = backoff{}, nil, plan.Step{}
			continue
		}
		if t.failed == nil || t.failed.Error() != f.Err.Error() {
			e.log.Warn("guest not brought in sync", "vmid", f.Vmid, "error", f.Err)
		}
		t.retry, t.failed, t.failedStep = t.retry.after(f.Err, f.Step.Op, now), f.Err, f.Step
	}
}
