package reconcile

import "time"

// Hooks are called when something happens. Each field may be nil. The functions are called from the engine and from lanes, so they must
// return quickly and be safe for concurrent use.
type Hooks struct {
	Intake      IntakeHooks
	Lane        LaneHooks
	OnReport    func(Report)
	OnRefused   func(RefusedReport) // once for each refused head
	OnPlan      func(PlanOutcome)
	OnDrift     func(DriftOutcome)
	OnConverged func(ConvergedOutcome)
	OnQueueWait func(d time.Duration)
}

func (h Hooks) report(r Report) {
	if h.OnReport != nil {
		h.OnReport(r)
	}
}

func (h Hooks) refused(r RefusedReport) {
	if h.OnRefused != nil {
		h.OnRefused(r)
	}
}

func (h Hooks) plan(o PlanOutcome) {
	if h.OnPlan != nil {
		h.OnPlan(o)
	}
}

func (h Hooks) drift(o DriftOutcome) {
	if h.OnDrift != nil {
		h.OnDrift(o)
	}
}

func (h Hooks) converged(o ConvergedOutcome) {
	if h.OnConverged != nil {
		h.OnConverged(o)
	}
}
