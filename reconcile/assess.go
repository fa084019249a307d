package reconcile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/volumes"
)

// assess derives the state of every planned guest and brings the tracks up to date. It reports drift and convergence. Afterwards
// the state of the cycle is final: publish only prints it.
func (e *Engine) assess(planned plan.Plan) {
	now := time.Now()
	state := e.opts.Journal.State()
	e.overridden, e.unsettled = state.Overridden, make(map[object.Key]bool, len(state.Open))
	e.noteSnapshots(state)
	e.progress, e.waits = nil, nil
	for _, open := range state.Open {
		e.unsettled[open.Key()] = true
		if text := e.worker.Waiting(open.UPID); text != "" {
			if e.waits == nil {
				e.waits = make(map[object.Key]string)
			}
			e.waits[open.Key()] = text
		}
		if percent := e.worker.Progress(open.UPID); percent > 0 {
			if e.progress == nil {
				e.progress = make(map[object.Key]int)
			}
			e.progress[open.Key()] = percent
		}
	}
	judge := e.basis.Load().Gate(state, now)
	inventory := e.readings.observer.Snapshot().Inventory
	copies := plan.MarkerCopies(inventory, state.Owned)
	var assessed []*track
	for _, p := range planned.Guests {
		if !isReported(p) {
			continue
		}
		t := e.track(p.Ref)
		p, uses := t.withoutUsedFiles(p)
		t.now = e.assessGuest(t, p, judge, copies[p.Ref.VMID], uses, now)
		noteHolds(t, p, inventory)
		noteHidden(t, p, inventory.ReadAt)
		noteHA(t, p, inventory)
		if e.revision.force.Accepted.Valid() {
			e.noteDrift(t, p, now)
		}
		assessed = append(assessed, t)
	}
	e.forgetTracks(planned)
	e.assessGuards(planned, judge, now)
	e.noteWeakenings()
	e.noteOrders(state.Orders)
	e.noteUnmatched(assessed, state)
	e.revision.noteConvergence(e.inSync(assessed, state), e.readings.proxmox.Ready, e.readings.clocksDiffer(), now)
}

// inSync reports whether nothing is in flight and every guest matches the revision in force, also if there is a newer one.
func (e *Engine) inSync(assessed []*track, state journal.State) bool {
	if !e.revision.force.Accepted.Valid() || len(state.Open) > 0 || e.queue.Depth() > 0 || len(e.rollouts.withheld) > 0 {
		return false // guests that a rollout holds do not have the revision in force
	}
	for _, t := range assessed {
		if t.now.sync != report.Synced {
			return false
		}
	}
	return true
}

// isReported reports whether a planned guest is part of the report. A guest that the agent owned and that is gone is not; tidy forgets it.
func isReported(p plan.Guest) bool { return p.Managed || !p.Empty() }

// assessGuest returns the state of one guest. Copies are other guests that have its marker. Uses says that a former file of an Image is in use: it is tried again
// later and later, although the Image is in sync.
func (e *Engine) assessGuest(t *track, p plan.Guest, judge gate.Gate, copies []cluster.Row, uses bool, now time.Time) assessment {
	a := assessment{sync: syncOf(p), conditions: slices.Clone(p.Conditions), busy: e.queue.Busy(keyOf(p.Ref)), awaitsHA: p.AwaitsHA()}
	if a.sync == report.Synced && !uses && !a.busy && t.retry.over(now) && !e.unsettled[keyOf(p.Ref)] {
		t.recover() // the guest came in sync without the agent; while a step of it is open, the failure is still true
		t.noteSuccess()
	}
	listed := e.readings.observer.Snapshot().Inventory.ReadAt
	if a.busy && t.failed == nil && e.unsettled[keyOf(p.Ref)] && !e.locks[p.Ref.VMID].isLeft(listed) { // a task of the open step holds the lock
		a.conditions = slices.DeleteFunc(a.conditions, func(c plan.Condition) bool { return c.Reason == reason.Locked })
	}
	e.explainLock(p, a.conditions, listed)
	present := make(map[string]time.Time) // the conditions and holds of this cycle
	if !e.isOutdated(p, a.busy) {
		a.judgeSteps(t, p, judge, now, present)
	}
	a.judgeOrders(t, p, judge, now, present)
	a.judgeGuards(t, p, judge, now, present)
	a.judgeRollout(t, p, judge, now, present)
	a.judgeSuspension(judge.Policies.Of(p.Ref).Suspend, now)
	a.snapshots = e.snapshotReport(t, p.Ref.VMID, now)
	if on, queued := e.queue.WaitOf(keyOf(p.Ref)); queued {
		a.queued = true
		a.conditions = append(a.conditions, e.queuedCondition(on))
	}
	a.outstanding = outstanding(t, p, a)
	a.conditions = append(a.conditions, a.outstanding.Conditions()...)
	a.conditions = append(a.conditions, e.conditions(t, p, now)...)
	if len(copies) > 0 {
		a.conditions = append(a.conditions, plan.MarkerCopiesCondition(copies, judge.Owned[p.Ref.VMID].Tag))
	}
	revision := e.basis.Load().Revision
	lost, isLost := e.recovery.Of(p.Ref.VMID)
	for i := range a.conditions {
		c := &a.conditions[i]
		c.Act = c.Reason.Act()
		if isLost {
			explainConflict(c, lost, e.recovery)
		}
		c.Since, c.Revision = t.began(string(c.Type)+"/"+string(c.Reason), now, present), revision
	}
	t.since = present
	return a
}

// isOutdated reports whether a plan wants to create a guest again that its lane has just created: the journal has the guest, and the newest reading of the
// engine is older. The result of the lane tells.
func (e *Engine) isOutdated(p plan.Guest, busy bool) bool {
	recreates := slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Recreates })
	return recreates && (busy || e.lanes.holds(keyOf(p.Ref))) // in this order: a lane posts its result before it ends
}

// syncOf returns whether the plan of a guest leaves anything to do in the cluster. A held weakening of its guards does not: the guest is as the guards in
// effect want it.
func syncOf(p plan.Guest) report.Sync {
	for _, c := range p.Conditions {
		if c.Type == plan.NotObserved {
			return report.SyncUnknown
		}
	}
	if p.Converged() {
		return report.Synced
	}
	return report.OutOfSync
}

// judgeSteps adds the steps that the gate holds, with a condition for the first one, and notes whether a step may run.
func (a *assessment) judgeSteps(t *track, p plan.Guest, judge gate.Gate, now time.Time, present map[string]time.Time) {
	var verdicts []gate.Verdict
	for _, step := range p.Steps {
		v := t.judge(judge, step)
		if len(v.Policies) > 0 {
			verdicts = append(verdicts, v)
		}
		if !v.Held {
			a.released, a.approved = true, append(a.approved, v.Digest)
			continue
		}
		a.held = append(a.held, heldStep(step, v, t.began("held/"+string(step.Op)+"/"+string(v.Reason), now, present)))
	}
	if len(a.held) > 0 {
		if c := heldCondition(a.held[0]); !slices.ContainsFunc(p.Conditions, func(o plan.Condition) bool { return o.Type == c.Type && o.Reason == c.Reason }) {
			a.conditions = append(a.conditions, c) // what hinders a start may have a condition of its own
		}
	}
	a.conditions = append(a.conditions, gate.PolicyConditions(verdicts)...)
}

// judgeOrders adds the steps of orders that the gate holds, with a condition for each.
func (a *assessment) judgeOrders(t *track, p plan.Guest, judge gate.Gate, now time.Time, present map[string]time.Time) {
	for _, step := range p.Orders {
		v := t.judge(judge, step)
		if !v.Held {
			a.released, a.approved = true, append(a.approved, v.Digest)
			continue
		}
		h := heldStep(step, v, t.began("held/"+step.Order.Key+"/"+string(v.Reason), now, present))
		a.held = append(a.held, h)
		a.conditions = append(a.conditions, heldCondition(h))
		if a.waits == nil {
			a.waits = make(map[string]report.HeldStep)
		}
		a.waits[step.Order.Key] = h
	}
}

// judgeGuards adds the held weakenings of the guest's guards, with a condition for each.
func (a *assessment) judgeGuards(t *track, p plan.Guest, judge gate.Gate, now time.Time, present map[string]time.Time) {
	for _, step := range p.Guards {
		if h, isHeld := heldWeakening(step, judge, func(id string) time.Time { return t.began(id, now, present) }); isHeld {
			a.held = append(a.held, h)
			a.conditions = append(a.conditions, heldCondition(h))
		}
	}
}

// judgeSuspension adds the condition of a guest that is suspended, unless a step that is held for this reason has it already.
func (a *assessment) judgeSuspension(s *guest.Suspension, now time.Time) {
	isSuspended := func(c plan.Condition) bool { return c.Type == plan.Suspended }
	if s.Active(now) && !slices.ContainsFunc(a.conditions, isSuspended) {
		a.conditions = append(a.conditions, plan.Condition{
			Type: plan.Suspended, Reason: reason.Suspended, Message: s.String(), Hint: gate.RemedyOf(s).Text,
		})
	}
}

// heldWeakening returns a weakening as a held step, and whether the gate holds it. Began returns when it was held first.
func heldWeakening(step plan.Step, judge gate.Gate, began func(id string) time.Time) (report.HeldStep, bool) {
	v := judge.Judge(step)
	if !v.Held {
		return report.HeldStep{}, false
	}
	return heldStep(step, v, began("held/"+string(step.Op)+"/"+step.Weakens.Digest)), true
}

// heldStep returns a step as the report prints it, with the verdict that holds it.
func heldStep(step plan.Step, v gate.Verdict, since time.Time) report.HeldStep {
	return report.HeldStep{Op: step.Op, Class: step.Class, Hold: report.NewHold(v), Digest: v.Digest, Since: since}
}

// heldCondition returns the condition of a guest with a held step.
func heldCondition(h report.HeldStep) plan.Condition {
	return plan.Condition{
		Type: h.Reason.Row().Held, Reason: h.Reason, Message: h.Op.Words() + ": " + h.Message, Hint: h.Hint, Digest: h.Digest,
	}
}

// conditions returns the conditions of a guest that neither the plan nor the gate can find.
func (e *Engine) conditions(t *track, p plan.Guest, now time.Time) []plan.Condition {
	var list []plan.Condition
	live, isLive := e.readings.observer.Snapshot().Guests[p.Ref.VMID]
	if holder := e.uuidHolders[p.Ref.Label()]; holder != 0 && p.Ref.VMID == 0 {
		list = append(list, uuidCondition(holder))
	} else if p.Ref.VMID == 0 && p.Ref.Kind.IsGuest() && e.unassigned != nil {
		list = append(list, plan.Condition{
			Type: plan.Blocked, Reason: reason.Impossible, Message: e.unassigned.Error(), Hint: reason.WidenVMIDs.Text,
		})
	}
	if c, refused := e.refusedCondition(p.Ref); refused {
		list = append(list, c)
	}
	if text := e.waits[keyOf(p.Ref)]; text != "" {
		list = append(list, plan.Condition{Type: plan.WaitsFor, Reason: reason.WaitsFor, Message: text})
	}
	if t.flaps.overLimit(now) {
		list = append(list, flappingCondition(p.Ref))
	}
	if bounded := e.guards.now.Bounded[p.Ref.VMID]; len(bounded) > 0 && p.Managed {
		list = append(list, minimumCondition(bounded))
	}
	shown := cluster.IsUsed(t.failed) && slices.ContainsFunc(p.Conditions, func(c plan.Condition) bool { return c.Reason == reason.InUse })
	if _, _, refused := volumes.Refusal(t.failed); t.failed != nil && !refused && !shown {
		list = append(list, failedCondition(t, e.guests))
	}
	if unused := t.derive(live).unused; len(unused) > 0 && isLive {
		list = append(list, plan.Condition{
			Type: plan.Leftover, Reason: reason.LeftOver, Message: "volumes that no slot uses: " + strings.Join(unused, ", "),
			Hint: reason.AttachOrRemove.Text,
		})
	}
	if o := e.overridden[p.Ref.VMID]; now.Before(o.Until) && p.Managed {
		list = append(list, overrideCondition(o))
	}
	list = append(list, e.snapshotConditions(p.Ref.VMID)...)
	if len(t.warnings) > 0 {
		list = append(list, plan.Condition{
			Type: plan.Warned, Reason: reason.Warnings, Message: strings.Join(t.warnings, "; "), Hint: reason.InSpite.Text,
		})
	}
	return list
}

// queuedCondition returns the condition of a guest whose released step waits for work on others.
func (e *Engine) queuedCondition(on queue.Wait) plan.Condition {
	c := plan.Condition{Type: plan.WaitsFor, Reason: reason.WaitsFor, Hint: reason.RaiseLimits.Text}
	switch {
	case on.Object != object.Key{}:
		c.Message, c.Hint = fmt.Sprintf("it waits in the queue for %s, which another step needs now", cmp.Or(e.labelOf(on.Object), on.Object.String())), ""
	case on.Resource.Storage != "":
		c.Message = fmt.Sprintf("it waits in the queue: the storage %s gets as many copies as limits.copies_per_storage allows", on.Resource.Storage)
	case on.Resource.Node != "":
		c.Message = fmt.Sprintf("it waits in the queue: on node %s the agent works on as many guests as limits.guests_per_node allows", on.Resource.Node)
	default:
		c.Message = "it waits in the queue: the agent works on as many guests as parallel allows"
	}
	return c
}

// overrideCondition returns the condition of a guest whose run state an order overrides.
func overrideCondition(o journal.Overridden) plan.Condition {
	return plan.Condition{
		Type: plan.Warned, Reason: reason.Overridden,
		Message: fmt.Sprintf("an order overrides the state of the manifest: %s until %s", o.State, o.Until.UTC().Format(time.RFC3339)),
		Hint:    reason.EndOverride.Text,
	}
}

// minimumCondition returns the condition of a guest whose manifest asks for guards that are weaker than the host's minimum.
func minimumCondition(fields []guest.GuardField) plan.Condition {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, string(f))
	}
	return plan.Condition{
		Type: plan.Warned, Reason: reason.NotAllowed, Message: "the minimum of this host is in effect for " + strings.Join(names, ", "),
		Hint: reason.HostMinimum.Text,
	}
}

// failedCondition returns the condition of a guest whose last turn failed.
func failedCondition(t *track, guests []guest.Desired) plan.Condition {
	if c, denied := deniedCondition(t, guests); denied {
		return c
	}
	if cluster.IsUsed(t.failed) {
		return plan.Condition{
			Type: plan.Blocked, Reason: reason.InUse, Message: t.failed.Error(),
			Hint: reason.RemoveUsers.Text,
		}
	}
	if hanging := t.hangingTask(); hanging != nil {
		return plan.Condition{
			Type: plan.Blocked, Reason: reason.TaskHangs, Message: hanging.Error(),
			Hint: reason.StopTask.Text,
		}
	}
	why := reason.Error
	if t.failedStep.Op != "" {
		why = reason.Name(t.failedStep.Op)
	}
	c := plan.Condition{Type: plan.Failed, Reason: why, Message: t.failed.Error()}
	if likelyRefusedAgain(t.failed, t.failedStep.Op) {
		c.Hint = reason.CorrectRefused.Text
	}
	return c
}
