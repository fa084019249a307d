package lane

import "gitops-agent/reconcile/report"

// Hooks are called for each step that a lane executes. Each field may be nil. The functions must return quickly and be safe for concurrent use.
type Hooks struct {
	OnStepBegun func(report.StepBegun)
	OnStep      func(report.StepOutcome)
	OnSettled   func(report.SettledOutcome)
}

func (h Hooks) stepBegun(s report.StepBegun) {
	if h.OnStepBegun != nil {
		h.OnStepBegun(s)
	}
}

func (h Hooks) stepEnded(o report.StepOutcome) {
	if h.OnStep != nil {
		h.OnStep(o)
	}
}

func (h Hooks) settled(o report.SettledOutcome) {
	if h.OnSettled != nil {
		h.OnSettled(o)
	}
}
