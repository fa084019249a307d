package reconcile

import "gitops-agent/reconcile/journal"

// LaneHooks are called for each step that a lane executes. Each field may be nil. The functions must return quickly and be safe for concurrent use.
type LaneHooks struct {
	OnStepBegun func(step Step, id string)
	OnStep      func(StepOutcome)
	OnRecovered func(vmid int, op Op, result journal.Result)
}

func (h LaneHooks) stepBegun(step Step, id string) {
	if h.OnStepBegun != nil {
		h.OnStepBegun(step, id)
	}
}

func (h LaneHooks) stepEnded(o StepOutcome) {
	if h.OnStep != nil {
		h.OnStep(o)
	}
}

func (h LaneHooks) recovered(vmid int, op Op, result journal.Result) {
	if h.OnRecovered != nil {
		h.OnRecovered(vmid, op, result)
	}
}
