package metrics

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// Metrics contains the agent's counters and histograms, and the newest report, from which its gauges are computed. Create it with New. Its methods
// are safe for concurrent use.
type Metrics struct {
	report  atomic.Pointer[report.Report]
	replica atomic.Pointer[func() *report.Replica] // nil for the only agent
	routes  sync.Map                               // route to true: the routes whose series exist

	polls       *prometheus.CounterVec
	pollTime    prometheus.Histogram
	verified    *prometheus.CounterVec
	verifyTime  prometheus.Histogram
	refused     *prometheus.CounterVec
	planTime    prometheus.Histogram
	planSteps   *prometheus.GaugeVec
	steps       *prometheus.CounterVec
	stepTime    *prometheus.HistogramVec
	queueWait   prometheus.Histogram
	convergence prometheus.Histogram
	pushed      prometheus.Histogram
	stages      *prometheus.HistogramVec
	drift       *prometheus.CounterVec
	corrected   prometheus.Counter
	orders      *prometheus.CounterVec
	requests    *prometheus.CounterVec
	requestTime *prometheus.HistogramVec
	records     prometheus.Counter
	syncTime    prometheus.Histogram
	recovered   *prometheus.CounterVec
	trustedRoot *prometheus.GaugeVec
	rootExpiry  prometheus.Gauge
	tokenExpiry prometheus.Gauge
	connections prometheus.Gauge
	connLimit   prometheus.Gauge
	connRefused *prometheus.CounterVec
	connClosed  *prometheus.CounterVec
	webhooks    *prometheus.CounterVec
	notified    *prometheus.CounterVec
	commits     *prometheus.CounterVec
	attested    *prometheus.CounterVec
	spans       *prometheus.CounterVec

	traceOf func(revision, step string) (traceID, spanID string)
}

// Build identifies the running program, for build_info.
type Build struct{ Version, Commit, GoVersion string }

// Upper bounds of the histograms' buckets, in seconds.
var (
	fastBuckets = []float64{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
	callBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	workBuckets = []float64{.1, .5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800}
)

// Reasons are label values that other packages define, which metrics does not import. Their series start at zero.
type Reasons struct {
	Rejections []string // for which a signature is rejected: verify.Reasons
	Waits      []string // for which a revision is not decided yet
	Refusals   []string // for which a request to the status page is refused: access.Reasons
	Closes     []string // for which a connection to it is closed early: status.CloseReasons
	Webhooks   []string // results of webhooks: status.WebhookResults
	// Notifications are results of notifications: notify.Results.
	Notifications []string
	// Attestations are results of attestations: attest.Results.
	Attestations []string
	// Commits are results of statuses of commits: commitstatus.Results.
	Commits []string
	// Spans are results of spans of traces: traces.Results.
	Spans []string
}

// New registers every metric of the agent. New panics if a metric is already registered.
func New(reg prometheus.Registerer, build Build, reasons Reasons) *Metrics {
	m := &Metrics{
		polls:       counters("source_polls_total", "Polls of the remote, by result.", "result"),
		pollTime:    histogram("source_poll_duration_seconds", "Duration of one poll of the remote, including verification.", callBuckets),
		verified:    counters("verifications_total", "Revisions verified against the policy, by result and reason.", "result", "reason"),
		verifyTime:  histogram("verification_duration_seconds", "Duration of the verification of one revision.", fastBuckets),
		refused:     counters("revisions_refused_total", "Refused revisions, each counted once, by reason.", "reason"),
		planTime:    histogram("plan_duration_seconds", "Duration of one plan of all guests.", fastBuckets),
		planSteps:   gauges("plan_steps", "Steps in the newest plan, by class.", "class"),
		steps:       counters("steps_total", "Steps that ended, by operation and result.", "op", "result"),
		stepTime:    histograms("step_duration_seconds", "Duration of a step, from the record of its intent to its outcome.", workBuckets, "op"),
		queueWait:   histogram("queue_wait_seconds", "Time that the work on a guest waited in the queue.", workBuckets),
		convergence: histogram("convergence_seconds", "Time from the first fetch of a revision until all its guests were in sync.", workBuckets),
		pushed:      histogram("push_to_converged_seconds", "Time from the proven signing time of a revision until all its guests were in sync. Not counted while the clock of a node differs.", workBuckets),
		stages:      histograms("convergence_stage_seconds", "Duration of each stage of a convergence.", workBuckets, "stage"),
		drift:       counters("drift_detected_total", "Guests that drifted, by cause.", "cause"),
		corrected:   counter("drift_corrected_total", "Guests whose drift has ended."),
		orders:      counters("orders_total", "Signed orders that reached a state, by operation and state.", "operation", "result"),
		requests:    counters("api_requests_total", "Requests to the Proxmox API, by method, route and status code.", "method", "route", "code"),
		requestTime: histograms("api_request_duration_seconds", "Duration of requests to the Proxmox API.", callBuckets, "method", "route"),
		records:     counter("journal_records_total", "Records appended to the journal."),
		syncTime:    histogram("journal_sync_duration_seconds", "Duration of one fsync of the journal.", fastBuckets),
		recovered:   counters("journal_recovered_total", "Steps that a crash or a lost reply left open, by the outcome that was found.", "outcome"),
		trustedRoot: gauges("trusted_root_info", "The trusted root in force, identified by the SHA-256 of its file.", "sha256"),
		rootExpiry:  gauge("trusted_root_expiry_timestamp_seconds", "When the trusted root can no longer verify new signatures, 0 if it does not expire."),
		tokenExpiry: gauge("token_expiry_timestamp_seconds", "When the token for the Proxmox API expires, as the config of the agent states it, 0 if it does not."),
		connections: gauge("status_connections", "Open connections to the status page, the probes and the metrics."),
		connLimit:   gauge("status_connections_limit", "Connections to the status page that may be open, which leaves file descriptors for the agent's work."),
		connRefused: counters("status_requests_refused_total", "Requests to the status page that were refused, by reason.", "reason"),
		connClosed:  counters("status_connections_closed_total", "Connections to the status page that were closed early because the limit was reached, by reason.", "reason"),
		webhooks:    counters("webhooks_total", "Webhooks that were received, by result.", "result"),
		notified:    counters("notifications_total", "Notifications, by result.", "result"),
		attested:    counters("attestations_total", "Attempts to write an attestation of a converged revision, by result.", "result"),
		commits:     counters("commit_statuses_total", "Attempts to show the status of a commit at the forge, by result.", "result"),
		spans:       counters("trace_spans_total", "Spans of traces, by what became of them.", "result"),
		traceOf:     func(string, string) (string, string) { return "", "" },
	}
	info := gauges("build_info", "The running program.", "version", "commit", "goversion")
	info.WithLabelValues(build.Version, build.Commit, build.GoVersion).Set(1)
	m.report.Store(&report.Report{Writes: report.Writes{Reason: reason.StopNoRevision}}) // until the first cycle
	m.zero(reasons)
	reg.MustRegister(
		info, m.polls, m.pollTime, m.verified, m.verifyTime, m.refused, m.planTime, m.planSteps, m.steps, m.stepTime, m.queueWait, m.convergence,
		m.pushed, m.stages, m.drift, m.corrected, m.orders, m.requests, m.requestTime, m.records, m.syncTime, m.recovered, m.trustedRoot,
		m.rootExpiry, m.tokenExpiry, m.connections, m.connLimit, m.connRefused, m.connClosed, m.webhooks, m.notified, m.commits, m.attested, m.spans, reportCollector{&m.report, &m.replica},
	)
	return m
}

// zero creates the series of every label value, so that rates and alerts work from the first scrape.
func (m *Metrics) zero(reasons Reasons) {
	for _, r := range report.PollResults() {
		m.polls.WithLabelValues(string(r))
	}
	m.verified.WithLabelValues("accepted", "")
	for _, r := range reasons.Rejections {
		m.verified.WithLabelValues("refused", r)
		m.refused.WithLabelValues(r)
	}
	for _, r := range reasons.Waits {
		m.verified.WithLabelValues("waiting", r)
	}
	for _, r := range report.RefusedReasons() {
		m.refused.WithLabelValues(r)
	}
	for _, c := range guest.Classes() {
		m.planSteps.WithLabelValues(string(c))
	}
	for _, op := range cluster.Ops() {
		m.stepTime.WithLabelValues(string(op))
		for _, r := range journal.Results() {
			m.steps.WithLabelValues(string(op), string(r))
		}
	}
	for _, stage := range stageNames() {
		m.stages.WithLabelValues(stage)
	}
	for _, c := range report.DriftCauses() {
		m.drift.WithLabelValues(string(c))
	}
	for _, operation := range []string{"approve", "run"} {
		for _, state := range journal.OrderStates() {
			m.orders.WithLabelValues(operation, string(state))
		}
	}
	for _, r := range journal.Results() {
		m.recovered.WithLabelValues(string(r))
	}
	for _, reason := range reasons.Closes {
		m.connClosed.WithLabelValues(reason)
	}
	for _, result := range reasons.Attestations {
		m.attested.WithLabelValues(result)
	}
	for _, result := range reasons.Commits {
		m.commits.WithLabelValues(result)
	}
	for _, result := range reasons.Spans {
		m.spans.WithLabelValues(result)
	}
	for _, result := range reasons.Notifications {
		m.notified.WithLabelValues(result)
	}
	for _, result := range reasons.Webhooks {
		m.webhooks.WithLabelValues(result)
	}
	for _, reason := range reasons.Refusals {
		m.connRefused.WithLabelValues(reason)
	}
}

func stageNames() []string { return []string{"verify", "apply"} }

// JournalSync counts the records that one fsync made durable, and observes its duration.
func (m *Metrics) JournalSync(records int, d time.Duration) {
	m.records.Add(float64(records))
	m.syncTime.Observe(d.Seconds())
}

// TokenExpiry sets when the token for the Proxmox API expires. The zero time means that this is not known, or that it does not expire.
func (m *Metrics) TokenExpiry(expiry time.Time) { m.tokenExpiry.Set(timestamp(expiry)) }

// TrustedRoot sets the trusted root in force. The zero time means that the trusted root does not expire.
func (m *Metrics) TrustedRoot(sha256 string, expiry time.Time) {
	m.trustedRoot.Reset()
	m.trustedRoot.WithLabelValues(sha256).Set(1)
	m.rootExpiry.Set(timestamp(expiry))
}
