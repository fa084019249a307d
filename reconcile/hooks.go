package reconcile

import (
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/report"
)

// Hooks are called for what happens and for what is measured. Each field may be nil. The functions are called from the engine and from lanes, so they must
// return quickly and be safe for concurrent use.
type Hooks struct {
	Intake      intake.Hooks
	OnEvent     func(event.Event) // once for everything that happens: see package event
	OnReport    func(report.Report)
	OnPlan      func(report.PlanOutcome)
	OnQueueWait func(d time.Duration)
}

func (h Hooks) report(r report.Report) {
	if h.OnReport != nil {
		h.OnReport(r)
	}
}

func (h Hooks) plan(o report.PlanOutcome) {
	if h.OnPlan != nil {
		h.OnPlan(o)
	}
}
