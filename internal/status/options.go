package status

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gitops-agent/internal/status/access"
	"gitops-agent/internal/status/page"
	"gitops-agent/reconcile/history"
	"gitops-agent/reconcile/report"
)

// Options configures a handler. Report is required.
type Options struct {
	// Report returns the newest report. Each request calls it, from several goroutines.
	Report func() report.Report
	// Values returns what the manifest wants of a guest and what was read, without secrets. Default: nothing.
	Values func(report.Guest) []report.Value
	// Addresses returns a lookup of the static addresses of guests. Default: none is known.
	Addresses func() func(report.Guest) []netip.Addr
	// History is what the journal says. Default: nothing.
	History *history.Index
	// Streams is how many pages are told at the same time when there is a newer report; each takes a connection. Default 16.
	Streams int
	// Gatherer provides the metrics of /metrics. Without it, /metrics does not exist.
	Gatherer prometheus.Gatherer
	// Hint requests a poll of the remote now; it must not block. Without it there are no webhooks.
	Hint func()
	// Webhooks are the paths on which forges can request a poll. Default: none.
	Webhooks []Webhook
	// OnWebhook is called for every webhook, from several goroutines. Default: nothing.
	OnWebhook func(WebhookResult)
	// Access decides which requests are answered. Default: all.
	Access *access.Access
	// Path is the path below which a reverse proxy publishes the handler, such as /gitops. The routes exist below it and below /. Default: /.
	Path string
	// Links are addresses outside of the page that do not follow from the report. Default: none.
	Links Links
	// Target is the value of the trailer Gitops-Target that commits need. Default: they need none.
	Target string
	// Version is the agent's version, for the footer of the page.
	Version string
	// StaleAfter is the age of a report from which the engine counts as stuck. Default 5 minutes.
	StaleAfter time.Duration
	// Logger logs webhooks, and replies that failed. Default: no log.
	Logger *slog.Logger
}

// Links are addresses outside of the page.
type Links = page.Links

const (
	defaultStaleAfter = 5 * time.Minute
	defaultStreams    = 16
)

func (o Options) withDefaults() Options {
	if o.StaleAfter <= 0 {
		o.StaleAfter = defaultStaleAfter
	}
	if o.Values == nil {
		o.Values = func(report.Guest) []report.Value { return nil }
	}
	if o.Addresses == nil {
		o.Addresses = func() func(report.Guest) []netip.Addr { return func(report.Guest) []netip.Addr { return nil } }
	}
	if o.History == nil {
		o.History = &history.Index{}
	}
	if o.OnWebhook == nil {
		o.OnWebhook = func(WebhookResult) {}
	}
	if o.Streams <= 0 {
		o.Streams = defaultStreams
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// site is the state that the routes share.
type site struct {
	opts    Options
	started time.Time // replaces the time of the report before the first report

	reloading sharedReply   // the page without a selected guest, which reloads itself
	paused    sharedReply   // the same page, which does not
	document  sharedReply   // /status.json
	streams   chan struct{} // bounds the streams of events
	rendering chan struct{} // bounds the pages that are rendered at the same time
}
