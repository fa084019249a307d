package reconcile

import (
	"errors"
	"slices"

	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/volumes"
)

// withoutUsedFile returns the plan of an Image without the deletion of a former file that the last try found in use, and with a condition instead: a file that is
// used is as it shall be. It returns whether there is one.
func (t *track) withoutUsedFile(p plan.Guest) (plan.Guest, bool) {
	var used *volumes.InUseError
	if t.failedStep.Former == nil || !errors.As(t.failed, &used) {
		return p, false
	}
	isUsed := func(s plan.Step) bool { return s.Former != nil && s.Former.On() == t.failedStep.Former.On() }
	if !slices.ContainsFunc(p.Steps, isUsed) {
		return p, false
	}
	p.Steps = slices.DeleteFunc(slices.Clone(p.Steps), isUsed)
	p.Conditions = append(slices.Clone(p.Conditions), plan.FileInUse(*t.failedStep.Former, "it is in use by "+used.Users()))
	return p, true
}
