package agent

import (
	"gitops-agent/internal/commitstatus"
	"gitops-agent/internal/notify"
	"gitops-agent/internal/status"
	"gitops-agent/internal/status/access"
	"gitops-agent/metrics"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// hooks connects the events of the engine to the metrics.
func hooks(m *metrics.Metrics) reconcile.Hooks {
	return reconcile.Hooks{
		Intake:   intake.Hooks{OnPoll: m.Poll, OnVerify: m.Verified, OnOrder: m.Order},
		Lane:     lane.Hooks{OnStep: m.Step, OnSettled: m.Settled},
		OnReport: m.Report, OnRefused: m.Refused, OnPlan: m.Planned, OnDrift: m.Drift, OnConverged: m.Converged, OnQueueWait: m.QueueWait,
	}
}

// hooks connects the events of the engine to the metrics, and to the reporter of commit statuses.
func (s *session) hooks(m *metrics.Metrics) reconcile.Hooks {
	h := hooks(m)
	if s.reporter != nil {
		h.OnReport = func(r report.Report) {
			m.Report(r)
			s.reporter.Offer(r)
		}
	}
	return h
}

// reasons returns the label values that other packages define.
func reasons() metrics.Reasons {
	return metrics.Reasons{
		Rejections: texts(verify.Reasons()), Refusals: texts(access.Reasons()), Closes: texts(status.CloseReasons()),
		Webhooks: texts(status.WebhookResults()), Notifications: texts(notify.Results()),
		Commits: texts(commitstatus.Results()),
	}
}

func texts[T ~string](values []T) []string {
	texts := make([]string, 0, len(values))
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return texts
}
