package reconcile

import (
	"time"

	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/report"
)

// Hooks are called when something happens. Each field may be nil. The functions are called from the engine and from lanes, so they must
// return quickly and be safe for concurrent use.
type Hooks struct {
	Intake      intake.Hooks
	Lane        lane.Hooks
	OnReport    func(report.Report)
	OnRefused   func(report.Refused) // once for each refused head
	OnPlan      func(report.PlanOutcome)
	OnHold      func(report.HoldOutcome)
	OnOrder     func(operation string, state journal.OrderState) // once for each state that a signed order is seen in
	OnDrift     func(report.DriftOutcome)
	OnConverged func(report.ConvergedOutcome)
	OnQueueWait func(d time.Duration)
}

func (h Hooks) report(r report.Report) {
	if h.OnReport != nil {
		h.OnReport(r)
	}
}

func (h Hooks) refused(r report.Refused) {
	if h.OnRefused != nil {
		h.OnRefused(r)
	}
}

func (h Hooks) plan(o report.PlanOutcome) {
	if h.OnPlan != nil {
		h.OnPlan(o)
	}
}

func (h Hooks) hold(o report.HoldOutcome) {
	if h.OnHold != nil {
		h.OnHold(o)
	}
}

func (h Hooks) order(operation string, state journal.OrderState) {
	if h.OnOrder != nil {
		h.OnOrder(operation, state)
	}
}

func (h Hooks) drift(o report.DriftOutcome) {
	if h.OnDrift != nil {
		h.OnDrift(o)
	}
}

func (h Hooks) converged(o report.ConvergedOutcome) {
	if h.OnConverged != nil {
		h.OnConverged(o)
	}
}
