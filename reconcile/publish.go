package reconcile

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// publish makes the report of the cycle. It is a projection: it changes nothing but the published report.
func (e *Engine) publish(planned plan.Plan) {
	now := time.Now()
	state := e.opts.Journal.State()
	basis := e.basis.Load()
	snapshot := e.readings.observer.Snapshot()
	r := report.Report{
		Time: now, Cluster: basis.Cluster, QueueDepth: e.queue.Depth(), Cycle: e.cycles,
		Journal: report.Journal{Healthy: true, Reason: journal.FaultNone, Inflight: len(state.Open)},
		Guests:  make([]report.Guest, 0, len(planned.Guests)),
		Guards:  e.guards.report, Late: e.late(now),
	}
	e.revision.Report(&r)
	e.readings.Report(&r)
	e.lease.Report(&r, basis)
	if err := e.lease.journalErr(); err != nil {
		r.Journal.Healthy, r.Journal.Reason, r.Journal.Error = false, journal.FaultOf(err), err.Error()
		r.Journal.Unread = state.Unread != nil
	}
	if e.opts.Replica != nil {
		r.Replica = e.opts.Replica()
	}
	dependsOn := e.dependencies()
	for _, p := range planned.Guests {
		if t, known := e.tracks[keyOf(p.Ref)]; known && isReported(p) {
			r.Guests = append(r.Guests, e.guestReport(p, t, snapshot, basis.Policies.Of(p.Ref), now))
			r.Guests[len(r.Guests)-1].DependsOn = dependsOn[p.Ref.Label()]
		}
	}
	slices.SortFunc(r.Guests, func(a, b report.Guest) int {
		return cmp.Or(cmp.Compare(a.VMID, b.VMID), cmp.Compare(a.Label(), b.Label()))
	})
	r.Except = report.NewExcept(r.Guests)
	if lost := e.recovery.Result; len(lost.Guests) > 0 {
		r.Recovery = &lost
	}
	r.Retried = e.retries.done
	r.Orders = e.orderReports(state)
	r.Rollouts = e.rolloutReports(state)
	r.Unmanaged = []report.GuestName{}
	if state.Unread == nil {
		r.Unmanaged = unmanaged(snapshot.Inventory, r.Guests)
	}
	e.shown.Store(&shown{guests: e.guests, seen: basis.Seen})
	e.report.Store(&r)
	e.opts.Hooks.report(r)
}

// unmanaged lists the guests of the cluster that are not in the report, without templates.
func unmanaged(inventory cluster.Inventory, guests []report.Guest) []report.GuestName {
	ours := make(map[int]bool, len(guests))
	for _, g := range guests {
		ours[g.VMID] = true
	}
	list := []report.GuestName{}
	for _, row := range inventory.Rows {
		if !ours[row.VMID] && !row.Template {
			list = append(list, report.GuestName{Kind: row.Kind, VMID: row.VMID, Name: row.Name, Node: row.Node})
		}
	}
	return list
}

// guestReport prints the assessment of a guest.
func (e *Engine) guestReport(p plan.Guest, t *track, snapshot cluster.Snapshot, policy gate.Policy, now time.Time) report.Guest {
	live, isLive := snapshot.Guests[p.Ref.VMID]
	if !p.Ref.Kind.IsGuest() {
		isLive, live.ReadAt = p.Present, p.ReadAt
	}
	g := report.Guest{
		GuestName: report.NewGuestName(p.Ref, p.Node), Managed: p.Managed, Sync: t.now.sync, Operation: operationOf(t.now),
		WhyNode: p.WhyNode, Status: live.Status, Digest: live.Digest, Tags: t.derive(live).tags, ObservedAt: live.ReadAt, Stale: e.readings.observer.Stale(p.Ref.VMID, now), Conditions: t.now.conditions, Held: t.now.held,
		Progress: e.progress[keyOf(p.Ref)], Snapshots: t.now.snapshots,
		DriftSince: t.driftSince(), Converged: t.convergedAt, Revision: t.revision,
	}
	for _, s := range p.Schedules {
		when := report.Schedule{Field: s.Field, Text: s.Text, Words: s.Event.String()}
		if !p.NeverRuns {
			when.Next, _ = s.Event.Next(now, now.Location())
		}
		g.Schedules = append(g.Schedules, when)
	}
	if g.Sync == report.OutOfSync && t.now.released && !t.mayRun(now) && !e.retries.open[keyOf(p.Ref)] {
		g.NextTry = t.nextTry()
	}
	for _, c := range p.Changes {
		change := report.NewChange(c)
		change.Drifted = t.now.outstanding.HasDrifted(c)
		g.Changes = append(g.Changes, change)
	}
	g.Health = healthOf(g, isLive, policy, now)
	if g.Health == report.Healthy && p.Ref.Kind.IsGuest() && slices.Contains(snapshot.Inventory.Offline, live.Node) {
		g.Health = report.HealthUnknown // what was read of it is from before
	}
	if g.Health == report.HealthUnknown && p.Ref.Kind.IsGuest() && snapshot.NotReadYet(p.Ref.VMID) {
		g.Health = report.Progressing
	}
	return g
}

// shown is what the newest report was made from. It is not changed after it was made.
type shown struct {
	guests []guest.Desired
	seen   map[int]guest.Observed
}

// values returns the keys of a guest. There are none before the first report.
func (s *shown) values(g report.Guest) []report.Value {
	if s == nil {
		return nil
	}
	var wanted *guest.Desired
	if i := slices.IndexFunc(s.guests, func(d guest.Desired) bool { return d.Label() == g.Label() }); i >= 0 {
		wanted = &s.guests[i]
	}
	return report.NewValues(wanted, s.seen[g.VMID], g.Changes)
}

// addresses returns the lookup of Engine.Addresses.
func (s *shown) addresses() func(report.Guest) []netip.Addr {
	if s == nil {
		return func(report.Guest) []netip.Addr { return nil }
	}
	wanted := make(map[string]*guest.Desired, len(s.guests))
	for i := range s.guests {
		wanted[s.guests[i].Label()] = &s.guests[i]
	}
	return func(g report.Guest) []netip.Addr {
		if live, seen := s.seen[g.VMID]; seen {
			return guest.ValuesNow(&live).Addresses()
		}
		if d := wanted[g.Label()]; d != nil {
			return guest.ValuesAfter(d, nil).Addresses()
		}
		return nil
	}
}

// dependencies returns the labels that the manifests of guests name in dependsOn, by label.
func (e *Engine) dependencies() map[string][]string {
	on := make(map[string][]string)
	for i := range e.guests {
		if d := &e.guests[i]; len(d.DependsOn) > 0 {
			on[d.Label()] = d.DependsOn
		}
	}
	return on
}

// operationOf returns what the agent does with a guest now.
func operationOf(a assessment) report.Operation {
	switch {
	case a.queued:
		return report.Waiting
	case a.busy:
		return report.Busy
	case a.released || len(a.held) > 0 || slices.ContainsFunc(a.conditions, func(c plan.Condition) bool { return c.Type == plan.WaitsFor }):
		return report.Waiting
	}
	return report.Idle
}

// healthOf derives the health of a guest from its conditions, the worst first.
func healthOf(g report.Guest, isLive bool, policy gate.Policy, now time.Time) report.Health {
	has := func(types ...plan.ConditionType) bool {
		return slices.ContainsFunc(g.Conditions, func(c plan.Condition) bool { return slices.Contains(types, c.Type) })
	}
	switch {
	case policy.Suspend.Active(now):
		return report.HealthSuspended
	case has(plan.Failed, plan.IdentityConflict, plan.Blocked):
		return report.Degraded
	case g.Operation == report.Busy || g.Operation == report.Waiting && len(g.Held) == 0:
		return report.Progressing
	case has(plan.NotObserved):
		return report.HealthUnknown
	case !isLive:
		return report.Missing
	case g.Status == guest.StatusPaused:
		return report.Degraded
	}
	return report.Healthy
}
