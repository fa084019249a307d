package reconcile

import (
	"context"
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// cycle compares the desired state with what is known of the cluster, offers work to the lanes and publishes one report, also if a part of it failed.
// It waits for no reply: readings and other calls run beside it (round.go, errand.go).
func (e *Engine) cycle(ctx context.Context) {
	e.cycles++
	e.readPause()
	e.readPresence()
	e.readWriter()
	began := time.Now()
	e.doubtLate(began)
	e.proxmox = e.proxmoxReport()
	e.readEndpoints()
	e.readRoot(began)
	e.findOwnGuest()
	e.setBasis(e.basis.Load().Waits)
	e.tidy(ctx)
	e.releaseWeakenings(ctx)
	e.recoverOwnership(ctx)
	e.beginRetry(began)
	e.chooseNodes(ctx)
	started := time.Now()
	planned := e.advanceRollouts(ctx, e.plan())
	made := report.PlanOutcome{Revision: e.basis.Load().Revision, Duration: time.Since(started), Steps: countSteps(planned)}
	e.opts.Hooks.plan(made)
	e.notePlan(planned, made)
	e.endConfiguring(ctx, planned)
	e.setBasis(e.order(planned, e.checkHealth(ctx, planned)).Waits)
	e.noteWrites()
	e.noteOutage(ctx)
	e.noteClocks()
	e.noteJournal()
	e.noteWaits(ctx, waitsEvery)
	e.offer(ctx, planned)
	e.watchWriter(ctx)
	e.assess(planned)
	e.endRetry()
	e.publish(planned)
	e.lastCycle = span{time.Now(), time.Since(began)}
}

// plan compares all guests with their newest readings.
func (e *Engine) plan() plan.Plan {
	want := e.basis.Load().Desired(e.opts.Journal.State())
	want.Secrets = e.vault.States(want.Guests)
	return plan.New(want, e.observer.Snapshot())
}

// order returns which steps wait for other guests.
func (e *Engine) order(planned plan.Plan, notReady map[string]string) plan.Ordering {
	now := time.Now()
	judge := e.basis.Load().Gate(e.opts.Journal.State(), now)
	judge.Waits = nil
	return plan.NewOrdering(planned, e.guests, plan.OrderingOptions{
		Objects: e.objects(),
		Now:     now, Stuck: e.stuck(), Released: func(step plan.Step) bool { return !judge.Judge(step).Held }, NoNode: judge.NodeUnavailable, NotReady: notReady,
		Remembered: judge.Remembered, Kept: func(step plan.Step) bool { return judge.Judge(step).Reason.IsKept() },
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
		e.observer.LearnFiles(r.Files)
		e.observer.LearnObjects(r.Objects)
		if r.Key.VMID != 0 {
			e.observer.Learn(observe.Sighting{VMID: r.Key.VMID, Seen: r.Seen, Absence: r.Absence, Again: r.Steps > 0 || r.Err != nil})
		}
		t := e.trackOf(r.Key)
		level := t.flaps
		newFailure := t.learn(r, now)
		if t.flaps != level && t.flaps.matters(now) {
			e.noteFlaps(r.Key, t.flaps.level)
		}
		if newFailure {
			e.events.Happened(event.GuestFailed, event.Details{Fields: []any{"vmid", r.Key.VMID, "guest", e.labelOf(r.Key), "op", string(r.Step.Op), "error", r.Err}})
		}
		e.noteHangingTask(r.Key, t)
	}
	if changed {
		retryUsedObjects(e.tracks)
	}
}
