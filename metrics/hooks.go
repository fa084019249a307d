package metrics

import (
	"time"

	"gitops-agent/reconcile"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// Hooks returns the hooks that feed the metrics from an engine.
func (m *Metrics) Hooks() reconcile.Hooks {
	return reconcile.Hooks{
		OnReport: func(r reconcile.Report) { m.report.Store(&r) },
		OnPoll: func(o reconcile.PollOutcome) {
			m.polls.WithLabelValues(string(o.Result)).Inc()
			m.pollTime.Observe(o.Duration.Seconds())
		},
		OnVerify:    m.onVerify,
		OnRefused:   func(r reconcile.RefusedReport) { m.refused.WithLabelValues(r.Reason).Inc() },
		OnPlan:      m.onPlan,
		OnStep:      m.onStep,
		OnDrift:     m.onDrift,
		OnConverged: m.onConverged,
		OnRecovered: func(_ int, _ reconcile.Op, result journal.Result) { m.recovered.WithLabelValues(string(result)).Inc() },
		OnOrder: func(operation string, state journal.OrderState) {
			m.orders.WithLabelValues(operation, string(state)).Inc()
		},
		OnQueueWait: func(d time.Duration) { m.queueWait.Observe(d.Seconds()) },
	}
}

func (m *Metrics) onVerify(o reconcile.VerifyOutcome) {
	result := "accepted"
	if o.Reason != "" {
		result = "refused"
	}
	m.verified.WithLabelValues(result, o.Reason).Inc()
	m.verifyTime.Observe(o.Duration.Seconds())
}

func (m *Metrics) onPlan(o reconcile.PlanOutcome) {
	m.planTime.Observe(o.Duration.Seconds())
	for _, class := range classes() {
		m.planSteps.WithLabelValues(string(class)).Set(float64(o.Steps[class]))
	}
}

func (m *Metrics) onStep(o reconcile.StepOutcome) {
	m.steps.WithLabelValues(string(o.Step.Op), string(o.Result)).Inc()
	m.stepTime.WithLabelValues(string(o.Step.Op)).Observe(o.Duration.Seconds())
}

func (m *Metrics) onDrift(o reconcile.DriftOutcome) {
	if o.Repaired {
		m.corrected.Inc()
		return
	}
	m.drift.WithLabelValues(string(o.Cause)).Inc()
}

func (m *Metrics) onConverged(o reconcile.ConvergedOutcome) {
	m.convergence.Observe(o.Total.Seconds())
	m.pushed.Observe(o.SinceProof.Seconds())
	m.stages.WithLabelValues("verify").Observe(o.Verify.Seconds())
	m.stages.WithLabelValues("apply").Observe(o.Apply.Seconds())
}

func classes() []guest.Class {
	return []guest.Class{guest.Live, guest.Restart, guest.Disruptive, guest.Destructive, guest.Impossible}
}
