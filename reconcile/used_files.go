package reconcile

import (
	"errors"
	"slices"

	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/volumes"
)

// withoutUsedFiles returns the plan of an Image without the deletions of former files that the last try found in use, and with a condition for each instead: a file
// that is used is as it shall be. It returns whether there are any.
func (t *track) withoutUsedFiles(p plan.Guest) (plan.Guest, bool) {
	if len(t.refused) == 0 {
		return p, false // as nearly always: nothing is copied in each cycle for each guest
	}
	var steps []plan.Step
	conditions := slices.Clone(p.Conditions)
	for _, step := range p.Steps {
		var used *volumes.InUseError
		if step.Former == nil || !errors.As(t.refused[step.Former.On()], &used) {
			steps = append(steps, step)
			continue
		}
		conditions = append(conditions, plan.FileInUse(*step.Former, "it is in use by "+used.Users()))
	}
	if len(steps) == len(p.Steps) {
		return p, false
	}
	p.Steps, p.Conditions = steps, conditions
	return p, true
}
