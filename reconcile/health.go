package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/health"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// checkHealth starts the checks of the guests for which a step waits, and returns why such guests are not ready, by label. Guests that nothing waits for
// are not checked, and neither are guests that the agent is about to change: what they answer now says nothing about later.
func (e *Engine) checkHealth(ctx context.Context, planned plan.Plan) map[string]string {
	e.checked = checkedGuests(e.guests)
	needed, now := e.neededGuests(planned), time.Now()
	targets, asked := e.rolloutTargets(planned)
	if len(asked) > 0 {
		maps.Copy(asked, needed)
	} else {
		asked = needed
	}
	e.health.Want(ctx, append(targets, e.targetsOf(planned, asked, now)...))
	notReady := make(map[string]string, len(needed))
	for label := range needed {
		if why := e.health.Result(label).NotReady(now); why != "" {
			notReady[label] = why
		}
	}
	return notReady
}

// targetsOf returns the checks of guests that the agent is not about to change.
func (e *Engine) targetsOf(planned plan.Plan, asked map[string]*guest.Desired, now time.Time) []health.Target {
	if len(asked) == 0 {
		return nil
	}
	var targets []health.Target
	for _, p := range planned.Guests {
		_, waits := e.rollouts.withheld[p.Ref.VMID]
		if d := asked[p.Ref.Label()]; d != nil && p.Managed && !e.queue.Busy(keyOf(p.Ref)) && (len(p.Steps) == 0 || d.Observe || d.Suspend.Active(now) || waits) {
			row := cluster.Row{Kind: d.Kind, VMID: p.Ref.VMID, Node: p.Node}
			targets = append(targets, health.Target{Label: d.Label(), Row: row, Check: d.Health})
		}
	}
	return targets
}

// checkedGuests returns the guests whose manifests have checks, by label; nil if there are none.
func checkedGuests(guests []guest.Desired) map[string]*guest.Desired {
	var checked map[string]*guest.Desired
	for i := range guests {
		if guests[i].Health == (guest.Health{}) {
			continue
		}
		if checked == nil {
			checked = make(map[string]*guest.Desired)
		}
		checked[guests[i].Label()] = &guests[i]
	}
	return checked
}

// neededGuests returns the guests with checks for which a step waits, by label; nil if there are none.
func (e *Engine) neededGuests(planned plan.Plan) map[string]*guest.Desired {
	if len(e.checked) == 0 {
		return nil
	}
	waiting := make(map[string]bool)
	for _, p := range planned.Guests {
		if slices.ContainsFunc(p.Steps, plan.Step.NeedsDependencies) {
			waiting[p.Ref.Label()] = true
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	needed := make(map[string]*guest.Desired)
	for i := range e.guests {
		d := &e.guests[i]
		if len(d.DependsOn) == 0 || !waiting[d.Label()] {
			continue
		}
		for _, on := range d.DependsOn {
			if checked := e.checked[on]; checked != nil {
				needed[on] = checked
			}
		}
	}
	return needed
}

// refusedCondition returns the condition of a guest with a check that the config of the host does not allow, and whether it has one.
func (e *Engine) refusedCondition(ref guest.Ref) (plan.Condition, bool) {
	if len(e.checked) == 0 {
		return plan.Condition{}, false
	}
	d := e.checked[ref.Label()]
	if d == nil || !e.health.Refuses(d.Label(), d.Health) {
		return plan.Condition{}, false
	}
	return plan.Condition{
		Type: plan.Warned, Reason: reason.NotAllowed,
		Message: "checks.allow in the config of the agent's host does not allow the check of " + d.Health.Addresses() + ", so guests that depend on this guest wait",
		Hint:    reason.AllowCheck.Text,
	}, true
}
