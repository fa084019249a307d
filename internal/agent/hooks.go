package agent

import (
	"gitops-agent/metrics"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/lane"
	"gitops-agent/verify"
)

// hooks connects the events of the engine to the metrics.
func hooks(m *metrics.Metrics) reconcile.Hooks {
	return reconcile.Hooks{
		Intake:   intake.Hooks{OnPoll: m.Poll, OnVerify: m.Verified, OnOrder: m.Order},
		Lane:     lane.Hooks{OnStep: m.Step, OnRecovered: m.Recovered},
		OnReport: m.Report, OnRefused: m.Refused, OnPlan: m.Planned, OnDrift: m.Drift, OnConverged: m.Converged, OnQueueWait: m.QueueWait,
	}
}

// rejections returns the reasons for which the verifier rejects a revision, as labels.
func rejections() []string {
	reasons := make([]string, 0, len(verify.Reasons()))
	for _, r := range verify.Reasons() {
		reasons = append(reasons, string(r))
	}
	return reasons
}
