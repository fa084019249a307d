package status

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gitops-agent/reconcile/report"
)

// Options says what is served. Report is required.
type Options struct {
	// Report returns the newest report. It is called at each request, from several goroutines.
	Report func() report.Report
	// Gatherer is what /metrics shows; nil is no /metrics.
	Gatherer prometheus.Gatherer
	// Hint asks for a look at the remote now; it must not block. nil is no webhook.
	Hint func()
	// WebhookToken returns the secret that a webhook must bear, without white space around it. It is asked at each request, so
	// that the secret can be rotated. nil and "" are no webhook.
	WebhookToken func() (string, error)
	// Version is the agent's, for the foot of the page.
	Version string
	// StaleAfter is the age of a report from which on the engine counts as stuck. 0 is 5 minutes.
	StaleAfter time.Duration
	// Logger is told of webhooks and of replies that could not be made. nil is silent.
	Logger *slog.Logger
}

const defaultStaleAfter = 5 * time.Minute

// metricsTimeout bounds a scrape, as Prometheus does with its own default.
const metricsTimeout = 10 * time.Second

func (o Options) withDefaults() Options {
	if o.StaleAfter <= 0 {
		o.StaleAfter = defaultStaleAfter
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// site answers every route.
type site struct {
	opts    Options
	started time.Time // stands in for the time of the first report
	page    page
}

// Handler returns a handler for GET /, /status.json, /healthz, /readyz and /metrics, and for POST /webhook. Another method on one of
// these is 405 with Allow, another path is 404.
func Handler(opts Options) http.Handler {
	opts = opts.withDefaults()
	s := &site{opts: opts, started: time.Now(), page: newPage()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /status.json", s.serveJSON)
	mux.HandleFunc("GET /healthz", s.serveHealth)
	mux.HandleFunc("GET /readyz", s.serveReady)
	if opts.Gatherer != nil {
		mux.Handle("GET /metrics", promhttp.HandlerFor(opts.Gatherer, promhttp.HandlerOpts{
			ErrorLog: gatherLog{opts.Logger}, ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4, Timeout: metricsTimeout,
		}))
	}
	if opts.Hint != nil && opts.WebhookToken != nil {
		mux.Handle("POST /webhook", newWebhook(opts))
	}
	return guarded{next: mux, policy: s.page.policy(), log: opts.Logger}
}

// gatherLog hands the complaints of the metrics handler on.
type gatherLog struct{ log *slog.Logger }

// Println implements promhttp.Logger, whose arguments end with the error.
func (g gatherLog) Println(v ...any) {
	g.log.Warn("metrics not gathered in full", "error", v[len(v)-1])
}
