package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/health"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/recovery"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/rollout"
)

// maxAdvances bounds how often a rollout advances in one cycle: a batch that is ready, and the next one.
const maxAdvances = 3

// advanceRollouts applies the orders about rollouts and releases the guests whose turn it is. It returns the plan, made again if guests were released.
func (e *Engine) advanceRollouts(ctx context.Context, planned plan.Plan) plan.Plan {
	for range maxAdvances {
		state := e.opts.Journal.State()
		if !rolloutsGoOn(state) || e.basis.Load().NoWrites != reason.WritesAllowed {
			break
		}
		e.groupRollouts(state)
		if !e.advanceOnce(ctx, planned) {
			break
		}
		e.setBasis(e.basis.Load().Waits)
		planned = e.plan()
	}
	if state := e.opts.Journal.State(); len(state.Staged) > 0 {
		e.withhold(state) // with what the rollouts wait for now
		e.setBasis(e.basis.Load().Waits)
	}
	e.noteRollouts(e.opts.Journal.State().Rollouts)
	return planned
}

// rolloutsGoOn reports whether something can follow from the rollouts of the journal.
func rolloutsGoOn(state journal.State) bool {
	if len(state.Staged) > 0 || len(openRolloutOrders(state)) > 0 {
		return true
	}
	for _, r := range state.Rollouts {
		if !r.Ended() {
			return true
		}
	}
	return false
}

// groupRollouts finds out which guests share a rollout, with which settings.
func (e *Engine) groupRollouts(state journal.State) {
	r := &e.rollouts
	r.settings, r.guests = make(map[string]guest.Rollout), make(map[string][]int)
	if r.waits == nil {
		r.waits = make(map[string]string)
	}
	add := func(settings guest.Rollout, vmid int) {
		if known, isKnown := r.settings[settings.Name]; isKnown {
			settings = known.Stricter(settings)
		}
		r.settings[settings.Name] = settings
		r.guests[settings.Name] = append(r.guests[settings.Name], vmid)
	}
	for i := range e.guests {
		if d := &e.guests[i]; d.Rollout.Name != "" {
			if _, owned := state.Owned[d.VMID]; owned {
				add(d.Rollout, d.VMID)
			}
		}
	}
	for vmid, s := range state.Staged {
		if settings, has := guest.DecodeRollout(state.Guarded[vmid].Rules.Rollout); has && s.Removed {
			add(settings, vmid)
		}
	}
}

var errNothingAdvances = errors.New("no rollout advances")

// advanceOnce journals what follows from the present state of the guests, and begins a new epoch, so that no lane works with what guests were held to before.
// It returns whether anything changed.
func (e *Engine) advanceOnce(ctx context.Context, planned plan.Plan) bool {
	var released []rollout.Guest
	number, err := e.revision.epochs.Change(e.revision.epoch, func() error {
		state, now := e.opts.Journal.State(), time.Now()
		records := e.orderedRollouts(state, now)
		if len(records) == 0 {
			records = rollout.Left(e.rolloutNames(state), state)
		}
		for _, name := range slices.Sorted(maps.Keys(state.Rollouts)) {
			if len(records) > 0 {
				break // the next time works with what has changed
			}
			progress := state.Rollouts[name]
			settings, known := e.rollouts.settings[name]
			if !known || progress.Ended() {
				continue
			}
			d := e.decide(progress, settings, planned, state, now)
			e.rollouts.waits[name] = d.Why
			records, released = d.Records(progress, state), d.Release
		}
		if len(records) == 0 {
			return errNothingAdvances
		}
		return e.opts.Journal.Append(ctx, records...)
	})
	switch {
	case errors.Is(err, errNothingAdvances), errors.Is(err, epoch.ErrSuperseded):
		return false // the next cycle works with what has changed
	case err != nil:
		e.log.WarnContext(ctx, "rollout not advanced", "error", err)
		return false
	}
	e.revision.epoch = number
	for _, g := range released {
		e.trackOf(object.Guest(g.VMID)).recover()
	}
	return true
}

// rolloutNames returns the rollout that each guest of a manifest has, by vmid; "" for none.
func (e *Engine) rolloutNames(state journal.State) map[int]string {
	names := make(map[int]string, len(state.Staged))
	for i := range e.guests {
		names[e.guests[i].VMID] = e.guests[i].Rollout.Name
	}
	return names
}

// openRolloutOrders returns the orders about rollouts without an outcome, the oldest first.
func openRolloutOrders(state journal.State) []journal.Order {
	var open []journal.Order
	for _, o := range state.Orders {
		if text, isRun := strings.CutPrefix(o.Order, order.RunPrefix); isRun && o.State == journal.OrderSeen && rollout.IsOrder(text) {
			open = append(open, o)
		}
	}
	slices.SortFunc(open, func(a, b journal.Order) int {
		return cmp.Or(a.ProvenTime.Compare(b.ProvenTime), cmp.Compare(a.Key, b.Key))
	})
	return open
}

// orderedRollouts returns the records of the oldest open order about a rollout.
func (e *Engine) orderedRollouts(state journal.State, now time.Time) []journal.Body {
	open := openRolloutOrders(state)
	if len(open) == 0 {
		return nil
	}
	o := open[0]
	asked, err := rollout.ParseOrder(strings.TrimPrefix(o.Order, order.RunPrefix))
	why := cmp.Or(rollout.Refuse(asked, state.Rollouts), e.basis.Load().Scope(state).Order(o.Ordered, rollout.Guests(asked.Name, state.Staged)...))
	if err != nil {
		why = err.Error()
	}
	if why != "" {
		refused := o.As(journal.OrderRefused)
		refused.Why = why
		return []journal.Body{refused}
	}
	next := rollout.Apply(asked.Op, o.Key, state.Rollouts[asked.Name], state.Staged, now)
	return append([]journal.Body{o.As(journal.OrderRun)}, rollout.Progressed(next, state)...)
}

// decide compares a rollout with its guests as they are now.
func (e *Engine) decide(progress journal.Rollout, settings guest.Rollout, planned plan.Plan, state journal.State, now time.Time) rollout.Decision {
	in := rollout.Input{Settings: settings, Progress: progress, Staged: state.Staged, Now: now}
	byVMID := make(map[int]*plan.Guest, len(planned.Guests))
	for i := range planned.Guests {
		byVMID[planned.Guests[i].Ref.VMID] = &planned.Guests[i]
	}
	wanted := make(map[int]*guest.Desired, len(e.guests))
	for i := range e.guests {
		wanted[e.guests[i].VMID] = &e.guests[i]
	}
	judge := e.basis.Load().Gate(state, now)
	for _, vmid := range e.rollouts.guests[progress.Name] {
		p := byVMID[vmid]
		if p == nil {
			p = &plan.Guest{Ref: guest.Ref{Kind: guest.Kind(state.Owned[vmid].Kind), Name: state.Owned[vmid].Name, VMID: vmid}}
		}
		in.Guests = append(in.Guests, e.rolloutGuest(p, wanted[vmid], judge, state, now))
	}
	in.Check, in.Unasked = e.queryProblem(settings, now)
	before, inTrouble := e.rollouts.troubled[progress.Name]
	if inTrouble && before.batch == progress.Batch {
		in.Troubled = now.Sub(before.since)
	}
	d := rollout.Advance(in)
	if e.rollouts.troubled == nil {
		e.rollouts.troubled = make(map[string]trouble)
	}
	switch {
	case !d.Trouble || d.Next.State == journal.RolloutFailed:
		delete(e.rollouts.troubled, progress.Name)
	case !inTrouble || before.batch != progress.Batch:
		e.rollouts.troubled[progress.Name] = trouble{progress.Batch, now}
	}
	return d
}

// rolloutGuest returns what a rollout needs to know of a guest.
func (e *Engine) rolloutGuest(p *plan.Guest, d *guest.Desired, judge gate.Gate, state journal.State, now time.Time) rollout.Guest {
	g := rollout.Guest{VMID: p.Ref.VMID, Label: p.Ref.Label(), Node: p.Node}
	live, seen := e.readings.observer.Snapshot().Guests[g.VMID]
	staged := state.Staged[g.VMID]
	t := e.tracks[object.Guest(g.VMID)]
	switch {
	case staged.Batch > 0 && staged.Released && (e.queue.Busy(object.Guest(g.VMID)) || isOpen(state, g.VMID)):
		g.Why = "it is being changed"
	case staged.Batch > 0 && staged.Released && !hasRevision(p):
		g.Why, g.Trouble = unfinished(p, t, judge)
	case !seen:
		g.Why, g.Unknown, g.Trouble = "it was not read", true, true
	case d != nil && (d.State == guest.Running || guest.AskedOfHA(d, &live) == guest.StatusRunning) && live.Status != guest.StatusRunning:
		g.Why, g.Trouble = "it does not run", true
	case d != nil && d.Health != (guest.Health{}):
		result := e.health.Result(d.Label())
		g.Why = result.NotReady(now)
		g.Ready, g.Unknown = g.Why == "", result.Began.IsZero()
		g.Trouble = !g.Ready && !g.Unknown
	default:
		g.Ready = true
	}
	return g
}

// hasRevision reports whether a guest is as its manifest wants it, with its firewall: the one that a guard keeps is not the one of the revision.
func hasRevision(p *plan.Guest) bool { return p.Converged() && len(heldFirewall(p)) == 0 }

// heldFirewall returns the step that opens the guarded firewall of a guest, if the manifest asks for that. Other guards change nothing of the guest in the cluster that a
// rollout would wait for.
func heldFirewall(p *plan.Guest) []plan.Step {
	i := slices.IndexFunc(p.Guards, plan.Step.OpensFirewall)
	if i < 0 {
		return nil
	}
	return p.Guards[i : i+1]
}

// unfinished returns why a released guest does not have its revision yet, and whether something failed.
func unfinished(p *plan.Guest, t *track, judge gate.Gate) (why string, failed bool) {
	if t != nil && t.failed != nil {
		return t.failed.Error(), true
	}
	for _, step := range slices.Concat(p.Steps, heldFirewall(p)) {
		if v := judge.Judge(step); v.Held {
			return fmt.Sprintf("%s waits: %s", step.Op, v.Message), false
		}
	}
	for _, c := range p.Conditions {
		switch c.Type { // the others end by themselves, or have a step
		case plan.Blocked, plan.IdentityConflict, plan.Failed:
			return c.Message, true
		}
	}
	if i := slices.IndexFunc(p.Conditions, func(c plan.Condition) bool { return c.Type == plan.WaitsFor }); i >= 0 {
		return p.Conditions[i].Message, false
	}
	return "it is being changed", false
}

// rolloutLabel is the label of a rollout, under which its query is checked.
func rolloutLabel(name string) string { return "Rollout/" + name }

// queryProblem returns why the query of a rollout does not pass, "" if it does or if there is none, and whether it was not asked yet.
func (e *Engine) queryProblem(settings guest.Rollout, now time.Time) (why string, unasked bool) {
	if settings.Query == "" {
		return "", false
	}
	result := e.health.Result(rolloutLabel(settings.Name))
	return result.NotReady(now), result.Began.IsZero()
}

// isChanging reports whether a guest that a rollout has released, or is about to, does not have its revision yet.
func (e *Engine) isChanging(progress journal.Rollout, state journal.State, planned map[int]*plan.Guest) bool {
	for vmid, s := range state.Staged {
		if s.Rollout != progress.Name || s.Batch != progress.Batch {
			continue
		}
		p := planned[vmid]
		if s.Withheld() || p == nil || !hasRevision(p) || e.queue.Busy(object.Guest(vmid)) || isOpen(state, vmid) {
			return true
		}
	}
	return false
}

// rolloutTargets returns the queries and the guests with checks of the rollouts that go on: their readiness decides what is released. A query is not asked
// while a guest of the batch is changed: what it answered before says nothing about afterwards.
func (e *Engine) rolloutTargets(planned plan.Plan) (queries []health.Target, guests map[string]*guest.Desired) {
	state := e.opts.Journal.State()
	going, byVMID := make(map[string]bool), make(map[int]*plan.Guest, len(state.Staged))
	for i := range planned.Guests {
		if vmid := planned.Guests[i].Ref.VMID; state.Staged[vmid].Batch > 0 {
			byVMID[vmid] = &planned.Guests[i]
		}
	}
	for name, r := range state.Rollouts {
		if r.State == journal.RolloutRunning || r.State == journal.RolloutPaused {
			going[name] = true
			if s := e.rollouts.settings[name]; s.Query != "" && !e.isChanging(r, state, byVMID) {
				queries = append(queries, health.Target{Label: rolloutLabel(name), Query: health.Query{Server: s.Prometheus, Text: s.Query}})
			}
		}
	}
	for label, d := range e.checked {
		if going[d.Rollout.Name] {
			if guests == nil {
				guests = make(map[string]*guest.Desired)
			}
			guests[label] = d
		}
	}
	return queries, guests
}

// withholdChanged derives the guests that are not released, if they are others than before.
func (e *Engine) withholdChanged() {
	state, r := e.opts.Journal.State(), &e.rollouts
	if len(state.Staged) == 0 && len(r.withheld) == 0 || sameMap(r.staged, state.Staged) && sameMap(r.progress, state.Rollouts) && sameMap(r.released, e.revision.force.Released) {
		return
	}
	e.groupRollouts(state)
	e.withhold(state)
}

// withhold derives why each guest waits that is not released.
func (e *Engine) withhold(state journal.State) {
	e.rollouts.staged, e.rollouts.progress, e.rollouts.released = state.Staged, state.Rollouts, e.revision.force.Released
	withheld := make(map[int]gate.Withheld)
	former := make(map[journal.Label][]journal.Introduction)
	for vmid, s := range state.Staged {
		if !s.Withheld() {
			continue
		}
		progress, settings := state.Rollouts[s.Rollout], e.rollouts.settings[s.Rollout]
		_, known := e.revision.force.Released[vmid]
		w := gate.Withheld{Known: known && !s.Removed, Live: settings.Live, By: s.By}
		w.Hold = gate.NewWithheld(rollout.WaitText(s, progress, e.rollouts.waits[s.Rollout]), rollout.Hint(progress, settings.Approval))
		withheld[vmid] = w
		if w.Known {
			former[journal.Label{Kind: s.Kind, Name: s.Name}] = s.By
		}
	}
	e.rollouts.withheld, e.rollouts.former = withheld, former
}

// revisionOf returns the revision that a guest is planned for, "" if it is unknown. Present is the one in force, "main@sha1:<40 hex>".
func (r *rollouts) revisionOf(vmid int, present string) string {
	s := r.staged[vmid]
	if !s.Withheld() {
		return present
	}
	branch, _, _ := strings.Cut(present, ":")
	if s.Commit == "" {
		return ""
	}
	return branch + ":" + s.Commit
}

// lostRollouts returns the records that hold the rollouts of guests whose records were lost: what was released for them is unknown.
func (e *Engine) lostRollouts(claims []recovery.Guest, state journal.State) []journal.Body {
	claimed := make(map[int]bool, len(claims))
	for _, g := range claims {
		claimed[g.VMID] = true
	}
	return rollout.Lost(string(e.revision.force.Accepted.Revision().Commit()), e.guests, claimed, state, time.Now())
}

// noteRollouts tells what became of rollouts.
func (e *Engine) noteRollouts(now map[string]journal.Rollout) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		r := now[name]
		if !e.rollouts.told.Changed(name, stageOf(r)) {
			continue
		}
		e.events.Happened(rolloutEvent(r.State), event.Details{Fields: []any{
			"rollout", name, "revision", r.Revision, "state", string(r.State), "batch", r.Batch, "batches", r.Batches, "guests", r.Guests,
			"why", r.Why, "hint", rollout.Hint(r, e.rollouts.settings[name].Approval),
		}})
	}
	e.rollouts.told.Keep(func(name string) bool { _, is := now[name]; return is })
}

func stageOf(r journal.Rollout) stage { return stage{r.State, r.Batch, r.Revision} }

// toldRollouts returns the rollouts that need no event after a start.
func toldRollouts(known map[string]journal.Rollout) event.Marks[string, stage] {
	told := make(event.Marks[string, stage], len(known))
	for name, r := range known {
		told[name] = stageOf(r)
	}
	return told
}

// rolloutEvent returns the event that tells that a rollout is in a state.
func rolloutEvent(state journal.RolloutState) event.Name {
	switch state {
	case journal.RolloutFailed:
		return event.RolloutFailed
	case journal.RolloutHeld:
		return event.RolloutHeld
	case journal.RolloutDone, journal.RolloutAborted:
		return event.RolloutEnded
	case journal.RolloutRunning, journal.RolloutPaused:
	}
	return event.RolloutAdvanced
}

// rolloutReports describes the rollouts of the journal, by name.
func (e *Engine) rolloutReports(state journal.State) []report.Rollout {
	var list []report.Rollout
	for _, name := range slices.Sorted(maps.Keys(state.Rollouts)) {
		r := state.Rollouts[name]
		out := report.Rollout{
			Name: name, Revision: r.Revision, State: r.State, Batch: r.Batch, Batches: r.Batches, Guests: r.Guests, Since: r.Since,
			Why: cmp.Or(r.Why, e.rollouts.waits[name]), Hint: rollout.Hint(r, e.rollouts.settings[name].Approval),
		}
		for _, s := range state.Staged {
			if s.Rollout == name && s.Withheld() {
				out.Withheld++
			}
		}
		for _, vmid := range r.Failed {
			out.Failed = append(out.Failed, e.labelOf(object.Guest(vmid)))
		}
		list = append(list, out)
	}
	return list
}

// judgeRollout adds the change that a rollout keeps from a guest as a held step. The guest is planned for its last released revision, so its plan does not
// have the change.
func (a *assessment) judgeRollout(t *track, p plan.Guest, judge gate.Gate, now time.Time, present map[string]time.Time) {
	w, withheld := judge.Withheld[p.Ref.VMID]
	if !withheld || !w.Known {
		return
	}
	class := guest.Restart
	if w.Live {
		class = guest.Live
	}
	h := heldStep(plan.Step{Op: plan.OpRollout, Class: class}, w.Hold, t.began("held/"+string(plan.OpRollout), now, present))
	a.held = append(a.held, h)
	a.conditions = append(a.conditions, heldCondition(h))
}
