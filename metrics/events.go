package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/report"
)

// Report replaces the report from which the gauges are computed.
func (m *Metrics) Report(r report.Report) { m.report.Store(&r) }

// Event counts what happened.
func (m *Metrics) Event(e event.Event) {
	switch o := e.Outcome.(type) {
	case report.StepOutcome:
		m.Step(o)
	case report.SettledOutcome:
		m.recovered.WithLabelValues(string(o.Result)).Inc()
	case report.OrderOutcome:
		m.orders.WithLabelValues(o.Operation, string(o.State)).Inc()
	case report.Refused:
		if e.Name != event.RevisionWithdrawn {
			m.refused.WithLabelValues(o.Reason).Inc()
		}
	case report.ConvergedOutcome:
		m.Converged(o)
	case report.DriftOutcome:
		if e.Name == event.GuestDrifted {
			m.drift.WithLabelValues(string(o.Cause)).Inc()
		} else {
			m.corrected.Inc()
		}
	}
}

// Poll counts one poll of the remote.
func (m *Metrics) Poll(o report.PollOutcome) {
	m.polls.WithLabelValues(string(o.Result)).Inc()
	m.pollTime.Observe(o.Duration.Seconds())
}

// QueueWait records the time that a guest's work waited in the queue.
func (m *Metrics) QueueWait(d time.Duration) { m.queueWait.Observe(d.Seconds()) }

// Verified counts one revision that was checked against the policy. A refused one counts at each poll, also where it was not verified again.
func (m *Metrics) Verified(o report.VerifyOutcome) {
	result := "accepted"
	switch {
	case o.Waiting:
		result = "waiting"
	case o.Reason != "":
		result = "refused"
	}
	m.verified.WithLabelValues(result, o.Reason).Inc()
	if !o.Known {
		m.verifyTime.Observe(o.Duration.Seconds())
	}
}

// Planned records one plan of all guests.
func (m *Metrics) Planned(o report.PlanOutcome) {
	m.planTime.Observe(o.Duration.Seconds())
	for _, class := range guest.Classes() {
		m.planSteps.WithLabelValues(string(class)).Set(float64(o.Steps[class]))
	}
}

// Step counts a step that ended.
func (m *Metrics) Step(o report.StepOutcome) {
	m.steps.WithLabelValues(string(o.Step.Op), string(o.Result)).Inc()
	observe(m.stepTime.WithLabelValues(string(o.Step.Op)), o.Duration, m.exemplar(o.Revision, o.ID))
}

// Converged records the durations of a revision's convergence, with its commit as exemplar.
func (m *Metrics) Converged(o report.ConvergedOutcome) {
	commit := m.exemplar(o.Revision, "")
	commit["revision"] = commitOf(o.Revision)
	observe(m.convergence, o.Total, commit)
	if o.SinceProof >= 0 {
		observe(m.pushed, o.SinceProof, commit)
	}
	observe(m.stages.WithLabelValues("verify"), o.Verify, commit)
	observe(m.stages.WithLabelValues("apply"), o.Apply, commit)
}

// UseTraces makes the exemplars of durations name the trace and the span of a revision, or of a step. The function returns "" where there is none. UseTraces
// must be called before the first event.
func (m *Metrics) UseTraces(of func(revision, step string) (traceID, spanID string)) { m.traceOf = of }

// exemplar returns the ids of the span of a revision or of a step, an empty map if there is none.
func (m *Metrics) exemplar(revision, step string) prometheus.Labels {
	labels := prometheus.Labels{}
	if traceID, spanID := m.traceOf(revision, step); traceID != "" {
		labels["trace_id"], labels["span_id"] = traceID, spanID
	}
	return labels
}

// observe observes a duration, with an exemplar if it has labels.
func observe(h prometheus.Observer, d time.Duration, exemplar prometheus.Labels) {
	if len(exemplar) == 0 {
		h.Observe(d.Seconds())
		return
	}
	h.(prometheus.ExemplarObserver).ObserveWithExemplar(d.Seconds(), exemplar)
}

// commitOf returns the commit of a revision, "main@sha1:<40 hex>". An exemplar may have 128 characters, and the name of a branch may be longer.
func commitOf(revision string) string { return revision[strings.LastIndex(revision, ":")+1:] }

// StatusConnections sets the number of open connections to the status page.
func (m *Metrics) StatusConnections(open int) { m.connections.Set(float64(open)) }

// UseReplica sets the function that describes this agent among others at each scrape.
func (m *Metrics) UseReplica(now func() *report.Replica) { m.replica.Store(&now) }

// StatusConnectionLimit sets how many connections to the status page may be open.
func (m *Metrics) StatusConnectionLimit(limit int) { m.connLimit.Set(float64(limit)) }

// StatusRefused counts a request to the status page that was refused.
func (m *Metrics) StatusRefused(reason string) { m.connRefused.WithLabelValues(reason).Inc() }

// StatusConnectionClosed counts a connection to the status page that was closed early.
func (m *Metrics) StatusConnectionClosed(reason string) { m.connClosed.WithLabelValues(reason).Inc() }

// Webhook counts a webhook that was received.
func (m *Metrics) Webhook(result string) { m.webhooks.WithLabelValues(result).Inc() }

// Notification counts a result of a notification.
func (m *Metrics) Notification(result string) { m.notified.WithLabelValues(result).Inc() }

// TraceSpans counts spans of traces.
func (m *Metrics) TraceSpans(result string, spans int) {
	m.spans.WithLabelValues(result).Add(float64(spans))
}

// Attestation counts an attempt to write an attestation.
func (m *Metrics) Attestation(result string) { m.attested.WithLabelValues(result).Inc() }

// CommitStatus counts an attempt to show the status of a commit.
func (m *Metrics) CommitStatus(result string) { m.commits.WithLabelValues(result).Inc() }
