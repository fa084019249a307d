package reconcile

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// publish makes one report of everything that the cycle knows.
func (e *Engine) publish(planned plan.Plan) {
	now := time.Now()
	state := e.opts.Journal.State()
	world := e.world.Load()
	judge := world.Gate(state, now)
	r := report.Report{
		Time: now, Cluster: world.Cluster, Source: e.source, Proxmox: e.proxmox, QueueDepth: e.queue.Depth(), Cycle: e.cycles,
		Writes:  report.Writes{Allowed: world.NoWrites == gate.WritesAllowed, Reason: world.NoWrites, Message: world.Why},
		Journal: report.Journal{Healthy: true, Inflight: len(state.Open)},
		Guests:  make([]report.Guest, 0, len(planned.Guests)),
	}
	if err := e.opts.Journal.Healthy(); err != nil {
		r.Journal.Healthy, r.Journal.Error = false, err.Error()
	}
	r.Source.Accepted = e.revisionReport(state)
	e.copied = plan.CopiesByOriginal(e.observer.Inventory, state.Owned)
	for _, p := range planned.Guests {
		if !p.Managed && p.Empty() {
			continue // owned, gone, and soon forgotten
		}
		r.Guests = append(r.Guests, e.guestReport(p, judge, now))
	}
	slices.SortFunc(r.Guests, func(a, b report.Guest) int {
		return cmp.Or(cmp.Compare(a.VMID, b.VMID), cmp.Compare(a.Label(), b.Label()))
	})
	e.forgetTracks(planned)
	r.Unmanaged = unmanaged(e.observer.Inventory, r.Guests)
	r.Converged = e.settled(r)
	e.noteConverged(&r, now)
	e.report.Store(&r)
	e.opts.Hooks.report(r)
}

// settled reports whether the newest revision is in force and every guest is as it says.
func (e *Engine) settled(r report.Report) bool {
	return e.accepted.Valid() && r.Source.Refused == nil && r.Source.Error == "" && r.Proxmox.Ready && r.Journal.Inflight == 0 &&
		r.QueueDepth == 0 && !slices.ContainsFunc(r.Guests, func(g report.Guest) bool { return g.Sync != report.Synced })
}

// noteConverged tells once per revision that all its guests are in sync.
func (e *Engine) noteConverged(r *report.Report, now time.Time) {
	if !r.Converged {
		return
	}
	if !e.converged && !e.resumed {
		proven := e.accepted.Revision.ProvenTime()
		e.opts.Hooks.converged(report.ConvergedOutcome{
			Revision: e.accepted.Revision.String(), Total: now.Sub(e.firstSeen), SinceProof: now.Sub(proven),
			Verify: e.acceptedAt.Sub(e.firstSeen), Apply: now.Sub(e.acceptedAt),
		})
		e.log.Info("revision converged", "revision", e.accepted.Revision.String(), "duration", now.Sub(e.firstSeen))
	}
	if !e.converged {
		e.converged, e.convergedAt = true, now
	}
	r.Source.Accepted.Converged = e.convergedAt
}

// revisionReport describes the revision that the cycle worked by. While none verifies, it describes the one in the journal.
func (e *Engine) revisionReport(state journal.State) *report.Revision {
	if !e.accepted.Valid() {
		if state.Accepted == nil {
			return nil
		}
		a := state.Accepted
		return &report.Revision{Commit: a.Commit, Subject: a.Subject, Issuer: a.Issuer, ProvenTime: a.ProvenTime, AcceptedAt: state.AcceptedAt}
	}
	rev := e.accepted.Revision
	rr := &report.Revision{
		Commit: string(rev.Commit()), Revision: rev.String(), Subject: rev.Signer().Subject, Issuer: rev.Signer().Issuer,
		ProvenTime: rev.ProvenTime(), AcceptedAt: e.acceptedAt, Warnings: e.accepted.Warnings(),
	}
	if state.Accepted != nil && state.Accepted.Commit == rr.Commit {
		rr.AcceptedAt = state.AcceptedAt
	}
	return rr
}

// unmanaged lists the guests of the cluster that are nobody's business here.
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

// guestReport derives a guest's three axes from its plan, the gate's word and what its lane does.
func (e *Engine) guestReport(p plan.Guest, judge gate.Gate, now time.Time) report.Guest {
	t := e.track(p.Ref)
	seen := make(map[string]time.Time)
	live, isLive := e.observer.Seen[p.Ref.VMID]
	g := report.Guest{
		Kind: p.Ref.Kind, Name: p.Ref.Name, VMID: p.Ref.VMID, Node: p.Node, Managed: p.Managed, Sync: syncOf(p), Operation: report.Idle,
		Status: live.Status, ObservedAt: live.ReadAt, Stale: e.observer.Stale(p.Ref.VMID, now), Conditions: slices.Clone(p.Conditions),
	}
	for _, c := range p.Changes {
		g.Changes = append(g.Changes, report.Change{Key: c.Key, From: c.From, To: c.To, Class: c.Class, Note: c.Note, Origin: c.Origin.String()})
	}
	if g.Sync == report.Synced && !e.queue.Busy(p.Ref.VMID) && t.retry.over(now) {
		t.retry, t.failed, t.failedStep = backoff{}, nil, plan.Step{} // somebody else mended what the agent could not
	}
	released := e.judgeSteps(&g, p, judge, t, now, seen)
	if g.Sync == report.OutOfSync && p.Managed && isLive {
		g.Conditions = append(g.Conditions, plan.Condition{Type: plan.Drifted, Reason: plan.ReasonDiffers, Message: "the guest is not as its manifest says"})
	}
	if p.Ref.VMID == 0 && e.unassigned != nil {
		g.Conditions = append(g.Conditions, plan.Condition{
			Type: plan.Blocked, Reason: plan.ReasonNoVMID, Message: e.unassigned.Error(), Hint: "widen spec.vmids of the Cluster, or give the manifest a vmid",
		})
	}
	if copies := e.copied[p.Ref.VMID]; len(copies) > 0 {
		g.Conditions = append(g.Conditions, plan.CopiedCondition(copies, judge.Owned[p.Ref.VMID].Tag))
	}
	if t.flaps.overLimit(now) {
		g.Conditions = append(g.Conditions, plan.Condition{
			Type: plan.Blocked, Reason: plan.ReasonFlapping, Message: "somebody keeps changing the guest back, so repairs are spaced out",
			Hint: "find out who changes it, or list the field under spec.ignoreFields",
		})
	}
	if t.failed != nil {
		g.Conditions = append(g.Conditions, failedCondition(t, e.guests))
	}
	if left := guest.UnusedVolumes(live); len(left) > 0 && isLive {
		g.Conditions = append(g.Conditions, plan.Condition{
			Type: plan.Leftover, Reason: plan.ReasonUnusedVolumes, Message: "volumes that no slot uses: " + strings.Join(left, ", "),
			Hint: "attach one by disks.SLOT.volume, or remove it in Proxmox; the agent frees none",
		})
	}
	if len(t.warned) > 0 {
		g.Conditions = append(g.Conditions, plan.Condition{Type: plan.Warned, Reason: plan.ReasonWarnings, Message: strings.Join(t.warned, "; "), Hint: "the task ended well all the same"})
	}
	revision := e.world.Load().Revision
	for i := range g.Conditions {
		c := &g.Conditions[i]
		c.Since, c.Revision = t.began(string(c.Type)+"/"+string(c.Reason), now, seen), revision
	}
	t.since = seen
	if e.accepted.Valid() {
		e.judge(t, p, g.Sync, now)
	}
	g.DriftSince, g.Converged, g.Revision = t.driftSince, t.converged, t.revision
	switch {
	case e.queue.Busy(p.Ref.VMID):
		g.Operation = report.Busy
	case released || len(g.Held) > 0:
		g.Operation = report.Waiting
	}
	g.Health = healthOf(g, isLive, judge.Policies.Of(p.Ref), now)
	return g
}

// judgeSteps lists the steps that the gate holds, and reports whether one may run.
func (e *Engine) judgeSteps(g *report.Guest, p plan.Guest, judge gate.Gate, t *track, now time.Time, seen map[string]time.Time) bool {
	released := false
	for _, step := range p.Steps {
		v := judge.Judge(step)
		if !v.Held {
			released = true
			continue
		}
		since := t.began("held/"+string(step.Op)+"/"+string(v.Reason), now, seen)
		g.Held = append(g.Held, report.HeldStep{
			Op: step.Op, Class: step.Class, Reason: v.Reason, Message: v.Message, Hint: v.Hint, Digest: v.Digest, Since: since,
		})
	}
	if len(g.Held) > 0 {
		h := g.Held[0]
		g.Conditions = append(g.Conditions, plan.Condition{Type: holdCondition(h.Reason), Reason: plan.ConditionReason(h.Reason), Message: string(h.Op) + ": " + h.Message, Hint: h.Hint, Digest: h.Digest})
	}
	return released
}

// holdCondition returns the type of the condition that tells of a hold.
func holdCondition(reason gate.HoldReason) plan.ConditionType {
	switch reason {
	case gate.HoldSuspended:
		return plan.Suspended
	case gate.HoldWaits:
		return plan.WaitsFor
	case gate.HoldApproval, gate.HoldDenied, gate.HoldDestroyLimit, gate.HoldEmptyDesired, gate.HoldObserve, gate.HoldWindow, gate.HoldWritesStopped:
	}
	return plan.Held
}

// failedCondition says why the guest is not brought further.
func failedCondition(t *track, guests []guest.Desired) plan.Condition {
	if c, denied := deniedCondition(t, guests); denied {
		return c
	}
	reason := plan.ReasonError
	if t.failedStep.Op != "" {
		reason = plan.ConditionReason(t.failedStep.Op)
	}
	c := plan.Condition{Type: plan.Failed, Reason: reason, Message: t.failed.Error()}
	if hopeless(t.failed, t.failedStep.Op) {
		c.Hint = "correct the manifest, or put right what Proxmox names; it is tried a few times more, then every half an hour, and with the next revision at once"
	}
	return c
}

// syncOf says whether the plan leaves anything to be done.
func syncOf(p plan.Guest) report.Sync {
	for _, c := range p.Conditions {
		if c.Type == plan.NotObserved {
			return report.SyncUnknown
		}
	}
	if p.Empty() {
		return report.Synced
	}
	return report.OutOfSync
}

// healthOf follows from the conditions, the worst first.
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
	case !isLive:
		return report.Missing
	case g.Status == guest.StatusPaused:
		return report.Degraded
	}
	return report.Healthy
}
