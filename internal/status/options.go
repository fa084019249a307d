package status

import (
	"html/template"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gitops-agent/reconcile/report"
)

// Options configures a handler. Report is required.
type Options struct {
	// Report returns the newest report. Each request calls it, from several goroutines.
	Report func() report.Report
	// Gatherer provides the metrics of /metrics. Without it, /metrics does not exist.
	Gatherer prometheus.Gatherer
	// Hint requests a poll of the remote now; it must not block. Without it, /webhook does not exist.
	Hint func()
	// WebhookToken returns the secret that a webhook must contain, without surrounding white space. Each request calls it, so that
	// the secret can be rotated. If it is nil, or returns "", there is no webhook.
	WebhookToken func() (string, error)
	// Version is the agent's version, for the footer of the page.
	Version string
	// StaleAfter is the age of a report from which the engine counts as stuck. Default 5 minutes.
	StaleAfter time.Duration
	// Logger logs webhooks, and replies that failed. Default: no log.
	Logger *slog.Logger
}

const defaultStaleAfter = 5 * time.Minute

func (o Options) withDefaults() Options {
	if o.StaleAfter <= 0 {
		o.StaleAfter = defaultStaleAfter
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// site is the state that the routes share.
type site struct {
	opts    Options
	started time.Time          // replaces the time of the report before the first report
	page    *template.Template // of page.html

	reloading sharedReply   // the page without a selected guest, which reloads itself
	paused    sharedReply   // the same page, which does not
	document  sharedReply   // /status.json
	rendering chan struct{} // bounds the pages that are rendered at the same time
}
