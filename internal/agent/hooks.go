package agent

import (
	"gitops-agent/internal/notify"
	"gitops-agent/internal/status"
	"gitops-agent/internal/status/access"
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

// reasons returns the label values that other packages define.
func reasons() metrics.Reasons {
	return metrics.Reasons{
		Rejections: texts(verify.Reasons()), Refusals: texts(access.Reasons()), Closes: texts(status.CloseReasons()),
		Webhooks: texts(status.WebhookResults()), Notifications: texts(notify.Results()),
	}
}

func texts[T ~string](values []T) []string {
	texts := make([]string, 0, len(values))
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return texts
}
