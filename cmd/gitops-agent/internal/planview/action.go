package planview

import (
	"slices"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/plan"
)

// action is the effect of a plan on a guest as a whole.
type action string

const (
	actionCreate  action = "create"
	actionChange  action = "change"
	actionDestroy action = "destroy"
	actionBlocked action = "blocked"
	actionWaiting action = "waiting" // all changes are written, and take effect after a restart, or when the HA manager acts
	actionUnknown action = "unknown" // the guest could not be read
	actionGuard   action = "guard"   // only a guard would become weaker, after an approval
	actionWarned  action = "warned"  // the guest is in sync, and a person should know something about it
)

func (a action) symbol() string {
	return map[action]string{actionCreate: "+", actionChange: "~", actionDestroy: "-", actionBlocked: "!", actionWaiting: "!", actionUnknown: "?", actionGuard: "!", actionWarned: "!"}[a]
}

func (a action) colour() term.Colour {
	return map[action]term.Colour{actionCreate: term.Green, actionChange: term.Yellow, actionDestroy: term.Red, actionBlocked: term.Red, actionWaiting: term.Yellow, actionUnknown: term.Red, actionGuard: term.Yellow, actionWarned: term.Yellow}[a]
}

// actionOf returns create or destroy if a step does that, change if there is any other step, and an action from the conditions otherwise.
func actionOf(p plan.Guest) action {
	has := func(op cluster.Op) bool {
		return slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Op == op })
	}
	waits := func(c plan.Condition) bool {
		return c.Type != plan.PendingRestart && c.Type != plan.WaitsFor && c.Type != plan.Warned
	}
	unread := func(c plan.Condition) bool { return c.Type == plan.NotObserved }
	switch {
	case slices.ContainsFunc(p.Conditions, unread):
		return actionUnknown
	case has(cluster.OpCreate), has(cluster.OpObjectAdd) && !has(cluster.OpObjectSet):
		return actionCreate
	case !p.Present && len(p.Steps) == 0 && slices.ContainsFunc(p.Conditions, func(c plan.Condition) bool { return c.Type == plan.WaitsFor }):
		return actionCreate // when what it waits for is there
	case has(cluster.OpDestroy), has(cluster.OpObjectRemove):
		return actionDestroy
	case len(p.Steps) > 0:
		return actionChange
	case len(p.Guards) == 0 && p.Converged():
		return actionWarned
	case p.Converged():
		return actionGuard
	case len(p.Conditions) > 0 && !slices.ContainsFunc(p.Conditions, waits):
		return actionWaiting
	default:
		return actionBlocked
	}
}
