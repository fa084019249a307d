package reconcile

import (
	"context"
	"maps"
	"time"

	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// cycle compares the desired state with the observed one, offers work to the lanes and publishes one report, also if a part of it failed.
// With read, it reads the cluster first.
func (e *Engine) cycle(ctx context.Context, read bool) {
	e.cycles++
	if read {
		e.observe(ctx)
	}
	e.setBasis(e.basis.Load().Waits)
	e.tidy(ctx)
	started := time.Now()
	planned := e.plan()
	e.opts.Hooks.plan(report.PlanOutcome{Duration: time.Since(started), Steps: countSteps(planned)})
	e.setBasis(plan.NewOrdering(planned, e.guests, e.stuck(), time.Now()).Waits)
	e.offer(ctx, planned)
	e.assess(planned)
	e.publish(planned)
}

// plan compares all guests with their newest readings.
func (e *Engine) plan() plan.Plan {
	want := e.basis.Load().Desired(e.opts.Journal.State())
	want.Secrets = e.vault.Look(want.Guests)
	return plan.New(want, e.observer.Snapshot())
}

func countSteps(planned plan.Plan) map[guest.Class]int {
	counts := make(map[guest.Class]int)
	for _, s := range planned.Steps() {
		counts[s.Class]++
	}
	return counts
}

// observe reads the cluster, and assigns vmids to guests without one.
func (e *Engine) observe(ctx context.Context) {
	err := e.observer.Observe(ctx, e.vmids(), observe.UnderHA(e.guests))
	e.logTrouble(ctx, e.observer.Trouble())
	if err != nil {
		if e.proxmox.Error == "" && ctx.Err() == nil {
			e.log.WarnContext(ctx, "cluster not observed", "error", err)
		}
		e.proxmox.Error, e.proxmox.Ready, e.clusterErr = err.Error(), false, err
		e.proxmox.VMList = e.observer.VMListStatus()
		e.observer.Doubt(time.Now(), err)
		return
	}
	if e.proxmox.Error != "" {
		e.log.InfoContext(ctx, "cluster observed again")
	}
	e.proxmox, e.clusterErr = report.Proxmox{
		Ready: true, LastSuccess: time.Now(), HAError: e.trouble.HA, VMList: e.observer.VMListStatus(),
	}, nil
	if e.mayWrite() {
		e.unassigned = e.assignVMIDs(ctx)
	}
}

// logTrouble logs once that a source of readings fails, and once that it works again.
func (e *Engine) logTrouble(ctx context.Context, now observe.Trouble) {
	logged := e.trouble
	if now.VMList != "" && now.VMList != logged.VMList {
		e.log.WarnContext(ctx, "vmlist file not used, the sweep reads every guest", "path", e.opts.VMList, "reason", now.VMList)
	}
	if now.VMList == "" && logged.VMList != "" {
		e.log.InfoContext(ctx, "vmlist file used again", "path", e.opts.VMList)
	}
	if now.HA != "" && now.HA != logged.HA {
		e.log.WarnContext(ctx, "HA resources not read", "error", now.HA)
	}
	e.trouble = now
}

// vmids returns the guests to observe, sorted: those that manifests name, and those that the agent owns.
func (e *Engine) vmids() []int { return relevantVMIDs(e.guests, e.opts.Journal.State()) }

// setBasis gives the lanes the present state to work from. A change of the permission to write begins a new epoch.
func (e *Engine) setBasis(waits func(plan.Step) string) {
	b := &lane.Basis{Cluster: e.opts.Scope.Cluster, Inventory: e.observer.Snapshot().Inventory, Waits: waits}
	if accepted := e.force.Accepted; accepted.Valid() {
		b.Revision, b.Guests, b.Policies, b.Guards = accepted.Revision().String(), e.guests, e.policies, accepted.Set().Cluster.Guards
	}
	if observed := e.observer.Snapshot(); len(plan.VolumesAtStake(b.Desired(e.opts.Journal.State()), observed)) > 0 {
		b.Seen = maps.Clone(observed.Guests)
	}
	b.NoWrites, b.Why = e.writeStop()
	if (b.NoWrites == gate.WritesAllowed) != (e.basis.Load().NoWrites == gate.WritesAllowed) {
		e.epoch = e.epochs.AdvanceFrom(e.epoch)
	}
	b.Epoch = e.epoch
	e.basis.Store(b)
}

// writeStop returns why nothing may be written to the cluster now.
func (e *Engine) writeStop() (gate.WriteStop, string) {
	switch err := e.opts.Journal.Healthy(); {
	case e.closing:
		return gate.StopClosing, "the agent is stopping"
	case err != nil:
		return gate.StopJournal, err.Error()
	case e.force.Unverified != nil:
		return gate.StopUnverified, e.force.Unverified.Error()
	case !e.force.Accepted.Valid():
		return gate.StopNoRevision, "no revision was accepted yet"
	case e.opts.DryRun:
		return gate.StopDryRun, "started with --dry-run"
	case !e.proxmox.Ready:
		return gate.StopNotReady, e.proxmox.Error
	}
	return gate.WritesAllowed, ""
}

// learn takes the results of the lanes.
func (e *Engine) learn() {
	now := time.Now()
	for _, r := range e.lanes.empty() {
		e.observer.Learn(observe.Sighting{VMID: r.VMID, Seen: r.Seen, Absence: r.Absence, Again: r.Steps > 0 || r.Err != nil})
		if e.track(guest.Ref{VMID: r.VMID}).learn(r, now) {
			e.log.Warn("guest not brought in sync", "vmid", r.VMID, "error", r.Err)
		}
	}
}

// event adds to the audit history. The journal's own health reports a failure, so an event may be lost.
func (e *Engine) event(ev journal.Event) {
	if ev.Revision == "" {
		ev.Revision = e.basis.Load().Revision
	}
	if e.opts.Journal.Healthy() == nil && !e.opts.DryRun {
		_ = e.opts.Journal.Append(context.Background(), ev)
	}
}
