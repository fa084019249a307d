package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	"gitops-agent/reconcile/guest"
)

// cycle compares what is wanted with what is there, gives the lanes their work and publishes one report, also when it could
// not finish.
func (e *Engine) cycle(ctx context.Context, observe bool) {
	e.cycles++
	if observe {
		e.observe(ctx)
	}
	e.setWorld(e.world.Load().waits)
	e.tidy(ctx)
	started := time.Now()
	planned := NewPlan(e.desired(), e.observer.observed())
	e.opts.Hooks.plan(PlanOutcome{Duration: time.Since(started), Steps: countSteps(planned)})
	e.setWorld(newOrdering(planned, e.guests, e.stuck(), time.Now()).waits)
	e.offer(ctx, planned)
	e.publish(planned)
}

func countSteps(planned Plan) map[guest.Class]int {
	counts := make(map[guest.Class]int)
	for _, s := range planned.Steps() {
		counts[s.Class]++
	}
	return counts
}

// observe reads the cluster and assigns vmids that are missing.
func (e *Engine) observe(ctx context.Context) {
	err := e.observer.observe(ctx, e.vmids(), underHA(e.guests))
	e.sayDoubts(ctx, e.observer.doubts())
	if err != nil {
		if e.proxmox.Error == "" && ctx.Err() == nil {
			e.log.WarnContext(ctx, "cluster not observed", "error", err)
		}
		e.proxmox.Error, e.proxmox.Ready, e.clusterErr = err.Error(), false, err
		e.proxmox.VMList = e.observer.list.report()
		e.observer.doubt(time.Now(), err)
		return
	}
	if e.proxmox.Error != "" {
		e.log.InfoContext(ctx, "cluster observed again")
	}
	e.proxmox, e.clusterErr = ProxmoxReport{
		Ready: true, LastSuccess: time.Now(), HAError: e.observer.haTrouble, VMList: e.observer.list.report(),
	}, nil
	if e.mayWrite() {
		e.unassigned = e.allocate(ctx)
	}
}

// sayDoubts logs once when something that observing rests on fails, and when it works again.
func (e *Engine) sayDoubts(ctx context.Context, now observingDoubts) {
	said := e.doubts
	if now.list != "" && now.list != said.list {
		e.log.WarnContext(ctx, "list of guests not believed, every guest is read in turn", "path", e.opts.VMList, "reason", now.list)
	}
	if now.list == "" && said.list != "" {
		e.log.InfoContext(ctx, "list of guests believed again", "path", e.opts.VMList)
	}
	if now.ha != "" && now.ha != said.ha {
		e.log.WarnContext(ctx, "HA resources not read", "error", now.ha)
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
	return allocate(ctx, e.opts.Cluster, e.opts.Journal, e.accepted.set.Cluster.VMIDs, e.guests, e.observer.inventory)
}

func (e *Engine) desired() Desired {
	want := e.world.Load().desired(e.opts.Journal.State())
	want.Secrets = e.vault.look(want.Guests)
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
func (e *Engine) setWorld(waits func(Step) string) {
	w := &world{cluster: e.opts.Scope.Cluster, inventory: e.observer.inventory, waits: waits}
	if e.accepted.Valid() {
		w.revision, w.commit = e.accepted.revision.String(), string(e.accepted.revision.Commit())
		w.guests, w.policies, w.guards = e.guests, e.policies, e.accepted.set.Cluster.Guards
	}
	if observed := e.observer.observed(); len(atStake(w.desired(e.opts.Journal.State()), observed)) > 0 {
		w.seen = maps.Clone(observed.Guests)
	}
	w.noWrites, w.why = e.writeStop()
	e.world.Store(w)
}

// writeStop returns why nothing may be written now.
func (e *Engine) writeStop() (WriteStop, string) {
	switch err := e.opts.Journal.Healthy(); {
	case e.closing:
		return StopClosing, "the agent is stopping"
	case err != nil:
		return StopJournal, err.Error()
	case e.unverified != nil:
		return StopUnverified, e.unverified.Error()
	case !e.accepted.Valid():
		return StopNoRevision, "no revision was accepted yet"
	case e.opts.DryRun:
		return StopDryRun, "started with --dry-run"
	case !e.proxmox.Ready:
		return StopNotReady, e.proxmox.Error
	}
	return WritesAllowed, ""
}

// learn takes what the lanes found.
func (e *Engine) learn() {
	now := time.Now()
	for _, f := range e.lanes.empty() {
		e.observer.learn(sighting{vmid: f.vmid, seen: f.seen, absence: f.absence, again: f.ran > 0 || f.err != nil})
		t := e.track(guest.Ref{VMID: f.vmid})
		if f.ran > 0 {
			t.warned = f.warned
		}
		if f.err == nil && f.ran > 0 {
			t.heat = t.heat.warmer(now, warmth(f.heavy))
		}
		if f.err == nil {
			t.retry, t.failed, t.failedStep = backoff{}, nil, Step{}
			continue
		}
		if t.failed == nil || t.failed.Error() != f.err.Error() {
			e.log.Warn("guest not brought in sync", "vmid", f.vmid, "error", f.err)
		}
		t.retry, t.failed, t.failedStep = t.retry.after(f.err, f.step.Op, now), f.err, f.step
	}
}
