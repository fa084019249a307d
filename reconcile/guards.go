package reconcile

import (
	"context"
	"errors"
	"reflect"
	"time"

	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/rollout"
)

// resolveGuards derives the guests with the guards in effect, if the manifests or the guards in force have changed, or a suspension has ended. It is
// the only place from which the engine takes desired guests.
func (e *Engine) resolveGuards(now time.Time) {
	if !e.revision.force.Accepted.Valid() {
		return
	}
	state, wanted := e.opts.Journal.State(), e.revision.force.Accepted.Guests()
	var cluster journal.ClusterGuarded
	if state.ClusterGuards != nil {
		cluster = *state.ClusterGuards
	}
	g := &e.guards
	ended := !g.now.Ends.IsZero() && !now.Before(g.now.Ends)
	if !ended && g.cluster == cluster && sameSlice(g.wanted, wanted) && g.wanted != nil && sameMap(g.guarded, state.Guarded) && sameMap(g.owned, state.Owned) &&
		sameMap(g.staged, state.Staged) && sameMap(g.former, e.revision.force.Released) &&
		sameMap(g.policies, state.Policies) && sameMap(g.left, state.Left) && (len(e.revision.force.Accepted.Set().Policies) == 0 || sameMap(g.signers, state.Introduced)) {
		return
	}
	left := g.now.Left
	g.now = guard.Resolve(e.guardInput(state, now))
	g.wanted, g.guarded, g.owned, g.cluster = wanted, state.Guarded, state.Owned, cluster
	g.staged, g.former = state.Staged, e.revision.force.Released
	g.policies, g.left, g.signers = state.Policies, state.Left, state.Introduced
	newRules := g.set == nil && e.opts.Rules.Len() > 0 || !reflect.DeepEqual(g.rules, g.now.Policies)
	if newRules {
		g.rules = g.now.Policies
		g.set = e.opts.Rules.With(policy.CompileRepository(g.rules))
	}
	newRules = newRules || !reflect.DeepEqual(left, g.now.Left)
	if guests := rollout.Held(g.now.Guests, e.revision.force.Released, state.Staged, guard.SatisfiesFirewall); !sameSlice(e.guests, guests) {
		changed := e.readings.observer.DueChanged(e.guests, guests)
		if len(e.guests) > 0 { // at the start of the agent nothing has changed
			e.calmChanged(keysOf(changed))
		}
		e.guests, e.policies, newRules = guests, gate.NewPolicies(guests), true
	}
	if newRules {
		e.rules = gate.NewRules(g.set, e.guests, g.now.Left)
	}
}

// guardInput returns the revision in force, and the guards in force.
func (e *Engine) guardInput(state journal.State, now time.Time) guard.Input {
	a := e.revision.force.Accepted
	return guard.Input{Cluster: a.Set().Cluster, Guests: a.Guests(), Policies: a.Set().Policies, State: state, Minimum: e.opts.Minimum, At: now}
}

// sameMap reports whether two maps are one map. The maps of the journal's state are replaced when they change.
func sameMap[K comparable, V any](a, b map[K]V) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// releaseWeakenings puts the weakenings into force that have enough approvals: the new guards are journaled and the approvals used up in one append,
// and a new epoch begins, so that no lane works with the old guards.
func (e *Engine) releaseWeakenings(ctx context.Context) {
	if e.basis.Load().NoWrites != reason.WritesAllowed || len(e.guards.now.Weakenings) == 0 || len(e.released(e.guards.now, e.opts.Journal.State())) == 0 {
		return
	}
	var released []guard.Weakening
	number, err := e.revision.epochs.Change(e.revision.epoch, func() error {
		state, now := e.opts.Journal.State(), time.Now()
		input := e.guardInput(state, now)
		records := []journal.Body{}
		for _, r := range e.released(guard.Resolve(input), state) {
			released = append(released, r.weakening)
			records = append(records, state.SpentOrders(r.keys, journal.OrderRun, "")...)
			records = append(records, journal.Event{Name: "guard-weakened", Revision: e.basis.Load().Revision, Message: r.weakening.String()})
		}
		if len(released) == 0 {
			return errNothingReleased
		}
		return e.opts.Journal.Append(ctx, append(records, guard.Release(input, released)...)...)
	})
	switch {
	case errors.Is(err, errNothingReleased), errors.Is(err, epoch.ErrSuperseded):
		return // the next cycle works with what has changed
	case err != nil:
		e.log.WarnContext(ctx, "weaker guards not put into force", "error", err)
		return
	}
	for _, w := range released {
		e.events.Happened(event.GuardWeakened, event.Details{Fields: []any{"change", w.String(), "guests", len(w.Guests), "digest", w.Digest}})
		e.said.Drop(event.GuardHeld, event.ID{w.Digest})
	}
	e.revision.epoch = number
	e.setBasis(e.basis.Load().Waits)
}

var errNothingReleased = errors.New("no weaker guard has enough approvals")

// releasedWeakening is a weakening that the gate releases, with the keys of its approvals.
type releasedWeakening struct {
	weakening guard.Weakening
	keys      []string
}

// released returns the weakenings that the gate releases.
func (e *Engine) released(resolved guard.Resolved, state journal.State) []releasedWeakening {
	judge := e.basis.Load().Gate(state, time.Now())
	judge.RequiredApprovals = resolved.Guards.Approvals
	var list []releasedWeakening
	for i := range resolved.Weakenings {
		if v := judge.Judge(plan.WeakeningStep(guest.Ref{}, &resolved.Weakenings[i])); !v.Held {
			list = append(list, releasedWeakening{resolved.Weakenings[i], v.ApprovalKeys})
		}
	}
	return list
}

// assessGuards notes the guards of the Cluster in effect, and their held weakenings.
func (e *Engine) assessGuards(planned plan.Plan, judge gate.Gate, now time.Time) {
	since := make(map[string]time.Time, len(planned.Guards))
	r := &report.Guards{
		Approvals: e.guards.now.Guards.Approvals, MaxDestroysPerDay: e.guards.now.Guards.MaxDestroysPerDay, Minimum: e.opts.Minimum.Texts(),
	}
	for _, step := range planned.Guards {
		h, isHeld := heldWeakening(step, judge, func(id string) time.Time {
			if since[id] = now; !e.guards.since[id].IsZero() {
				since[id] = e.guards.since[id]
			}
			return since[id]
		})
		if isHeld {
			r.Held = append(r.Held, h)
		}
	}
	e.guards.since, e.guards.report = since, nil
	if e.revision.force.Accepted.Valid() {
		e.guards.report = r
	}
}
