package reconcile

import (
	"context"
	"maps"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// cycle compares the desired state with what is known of the cluster, offers work to the lanes and publishes one report, also if a part of it failed.
// It waits for no reply: readings and other calls run beside it (round.go, errand.go).
func (e *Engine) cycle(ctx context.Context) {
	e.cycles++
	c := &turn{began: time.Now()}
	for _, part := range e.parts() {
		part(ctx, c)
	}
	e.lastCycle = span{time.Now(), time.Since(c.began)}
}

// turn is what the parts of one cycle hand on.
type turn struct {
	began   time.Time
	planned plan.Plan
}

// parts returns the parts of a cycle in their order. Each part relies on the parts before it.
func (e *Engine) parts() []func(context.Context, *turn) {
	return []func(context.Context, *turn){
		e.begin,      // the trackers take what is true now
		e.putRight,   // records that are late, approvals and requests of people: they change what is planned
		e.planGuests, // every guest, with the rollouts that go on because of it
		e.tell,       // the plan and the permission to write are final
		e.work,       // lanes get the released steps
		e.conclude,   // the state of every guest is derived once, and printed
	}
}

// begin takes what is true now: whether this process may write, what was read, and which revision is in force.
func (e *Engine) begin(_ context.Context, c *turn) {
	e.lease.Begin(c.began)
	e.doubtLate(c.began)
	e.readings.Begin(c.began)
	e.revision.Begin(c.began)
	if e.revision.waitsForJournal() && e.lease.journalErr() == nil {
		e.Hint() // the poll after a failure comes late
	}
	e.findOwnGuest()
	e.setBasis(e.basis.Load().Waits)
}

// putRight journals what needs no step, and does what people have asked for.
func (e *Engine) putRight(ctx context.Context, c *turn) {
	e.tidy(ctx)
	e.releaseWeakenings(ctx)
	e.recoverOwnership(ctx)
	e.beginRetry(c.began)
	e.chooseNodes(ctx)
	e.followBoots(ctx)
	e.followLocks(ctx, c.began)
	e.followLeftSnapshots(ctx)
}

// planGuests plans every guest, and finds out which steps wait for others.
func (e *Engine) planGuests(ctx context.Context, c *turn) {
	started := time.Now()
	c.planned = e.advanceRollouts(ctx, e.plan())
	made := report.PlanOutcome{Revision: e.basis.Load().Revision, Duration: time.Since(started), Steps: countSteps(c.planned)}
	e.opts.Hooks.plan(made)
	e.notePlan(c.planned, made)
	e.noteCreated(ctx, c.planned)
	e.followValues(ctx, c.planned)
	e.findOthers(c.planned)
	e.setBasis(e.order(c.planned, e.checkHealth(ctx, c.planned)).Waits)
}

// tell states what lasts of the agent and the cluster.
func (e *Engine) tell(ctx context.Context, _ *turn) {
	e.lease.Tell(e.basis.Load())
	e.readings.Tell(ctx)
	e.noteWaits(ctx, waitsEvery)
}

// work offers the released steps to the lanes.
func (e *Engine) work(ctx context.Context, c *turn) {
	e.offer(ctx, c.planned)
	e.watchWriter(ctx)
}

// conclude derives the state of every guest, and publishes the report.
func (e *Engine) conclude(_ context.Context, c *turn) {
	e.assess(c.planned)
	e.endRetry()
	e.publish(c.planned)
}

// plan compares all guests with their newest readings.
func (e *Engine) plan() plan.Plan {
	want := e.basis.Load().Desired(e.opts.Journal.State())
	want.Secrets = e.vault.States(want.Guests)
	return plan.New(want, e.readings.observer.Snapshot())
}

// order returns which steps wait for other guests.
func (e *Engine) order(planned plan.Plan, notReady map[string]string) plan.Ordering {
	now := time.Now()
	judge := e.basis.Load().Gate(e.opts.Journal.State(), now)
	judge.Waits = nil
	return plan.NewOrdering(planned, e.guests, plan.OrderingOptions{
		Objects: e.objects(),
		Now:     now, Stuck: e.stuck(), Released: func(step plan.Step) bool { return !judge.Judge(step).Held }, NoNode: judge.NodeUnavailable, NotReady: notReady,
		Remembered: judge.Remembered, Kept: judge.Keeps,
	})
}

func countSteps(planned plan.Plan) map[guest.Class]int {
	counts := make(map[guest.Class]int)
	for _, s := range planned.Steps() {
		counts[s.Class]++
	}
	return counts
}

// learn takes the results of the lanes.
func (e *Engine) learn() {
	now := time.Now()
	changed := false // a guest, or what firewalls name
	for _, r := range e.lanes.empty() {
		changed = changed || r.Steps > 0 && (r.Key.VMID != 0 || kind.IsOfFirewall(guest.Kind(r.Key.Kind())))
		e.readings.observer.LearnFiles(r.Files)
		e.readings.observer.LearnObjects(r.Objects)
		if r.Key.VMID != 0 {
			e.readings.observer.Learn(observe.Sighting{VMID: r.Key.VMID, Seen: r.Seen, Absence: r.Absence, Again: r.Steps > 0 || r.Err != nil})
		}
		t := e.trackOf(r.Key)
		level := t.flaps
		newFailure := t.learn(r, now)
		if t.flaps != level && t.flaps.matters(now) {
			e.noteFlaps(r.Key, t.flaps.level)
		}
		e.noteFailure(t, r, newFailure)
		e.noteHangingTask(r.Key, t)
	}
	if changed {
		retryUsedObjects(e.tracks)
	}
}

// setBasis gives the lanes the present state to work from. A change of the permission to write begins a new epoch.
func (e *Engine) setBasis(waits func(plan.Step) plan.Wait) {
	e.resolveGuards(time.Now())
	e.withholdChanged()
	observed := e.readings.observer.Snapshot()
	b := &lane.Basis{
		Cluster: e.opts.Scope.Cluster, Inventory: observed.Inventory, Seen: maps.Clone(observed.Guests), SeenObjects: maps.Clone(observed.Objects), Waits: waits, Hanging: e.worker.HangingTasks,
		Limits: e.revision.force.Limits, Separate: e.opts.Separate, OwnGuests: e.ownGuests,
	}
	if accepted := e.revision.force.Accepted; accepted.Valid() {
		b.Images, b.AllowedServer = accepted.Set().Images, e.opts.AllowedServer
		b.Objects = accepted.Set().Objects
		b.Revision, b.Guests, b.Policies, b.Rules = accepted.Revision().String(), e.guests, e.policies, e.rules
		b.Guards, b.Minimum, b.Weakenings = e.guards.now.Guards, e.opts.Minimum, e.guards.now.Weakenings
		b.VMIDs, b.Unplaced = accepted.Set().Cluster.VMIDs, e.unplaced
		b.Withheld, b.Former = e.rollouts.withheld, e.rollouts.former
	}
	b.NoWrites, b.Why = e.lease.Plan(&e.revision, &e.readings)
	if (b.NoWrites == reason.WritesAllowed) != (e.basis.Load().NoWrites == reason.WritesAllowed) {
		e.revision.epoch = e.revision.epochs.AdvanceFrom(e.revision.epoch)
	}
	b.Epoch = e.revision.epoch
	e.basis.Store(b)
}

// findOwnGuest looks for the guest in which the agent itself runs, until it is found. Of two guests that match, either may be the one.
func (e *Engine) findOwnGuest() {
	if !e.opts.Self.Known() || len(e.ownGuests) > 0 {
		return
	}
	found := make(map[int]bool)
	for vmid, seen := range e.readings.observer.Snapshot().Guests {
		if e.opts.Self.Matches(seen) {
			found[vmid] = true
			e.log.Info("agent runs in a guest that it manages", "vmid", vmid, "node", seen.Node)
		}
	}
	if len(found) > 0 {
		e.ownGuests = found
	}
}
