package agent

import (
	"gitops-agent/internal/attest"
	"gitops-agent/internal/commitstatus"
	"gitops-agent/internal/notify"
	"gitops-agent/internal/status"
	"gitops-agent/internal/status/access"
	"gitops-agent/internal/traces"
	"gitops-agent/metrics"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// hooks connects the engine to the metrics, the traces, the notifications, and the reporter of commit statuses.
func (s *session) hooks(m *metrics.Metrics, t *traces.Recorder, n *notify.Notifier) reconcile.Hooks {
	return reconcile.Hooks{
		Intake: intake.Hooks{OnPoll: both(m.Poll, t.Poll), OnVerify: both(m.Verified, t.Verified)},
		OnEvent: func(e event.Event) {
			m.Event(e) // before the traces: metrics name a span as long as it has not ended
			t.Event(e)
			n.Event(e)
		},
		OnReport: func(r report.Report) {
			m.Report(r)
			t.Report(r)
			if s.reporter != nil {
				s.reporter.Offer(r)
			}
			if s.attester != nil {
				s.attester.Offer(r)
			}
		},
		OnPlan: both(m.Planned, t.Planned), OnQueueWait: m.QueueWait,
	}
}

// both returns a function that calls two others, in this order: metrics name a span as long as it has not ended.
func both[T any](first, second func(T)) func(T) {
	return func(v T) {
		first(v)
		second(v)
	}
}

// reasons returns the label values that other packages define.
func reasons() metrics.Reasons {
	return metrics.Reasons{
		Rejections: texts(verify.Reasons()), Waits: []string{string(verify.ReasonEvidenceMissing)}, Refusals: texts(access.Reasons()), Closes: texts(status.CloseReasons()),
		Webhooks: texts(status.WebhookResults()), Notifications: texts(notify.Results()),
		Commits: texts(commitstatus.Results()), Attestations: texts(attest.Results()), Spans: texts(traces.Results()),
	}
}

func texts[T ~string](values []T) []string {
	texts := make([]string, 0, len(values))
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return texts
}
