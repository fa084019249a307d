package lane

import (
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// Hooks are called for each step that a lane executes. Each field may be nil. The functions must return quickly and be safe for concurrent use.
type Hooks struct {
	OnStepBegun func(step plan.Step, id string)
	OnStep      func(report.StepOutcome)
	OnRecovered func(vmid int, op cluster.Op, result journal.Result)
}

func (h Hooks) stepBegun(step plan.Step, id string) {
	if h.OnStepBegun != nil {
		h.OnStepBegun(step, id)
	}
}

func (h Hooks) stepEnded(o report.StepOutcome) {
	if h.OnStep != nil {
		h.OnStep(o)
	}
}

func (h Hooks) recovered(vmid int, op cluster.Op, result journal.Result) {
	if h.OnRecovered != nil {
		h.OnRecovered(vmid, op, result)
	}
}
