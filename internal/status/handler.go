package status

import (
	"log/slog"
	"net/http"
	"time"
)

// Handler returns a handler for GET /, /status.json, /healthz, /readyz and /metrics, and for POST /webhook. Another method on one of
// these paths is answered with 405 and Allow, another path with 404.
func Handler(opts Options) http.Handler {
	opts = opts.withDefaults()
	s := &site{opts: opts, started: time.Now(), page: newPageTemplate(), rendering: make(chan struct{}, maxRendering)}
	s.reloading.maxAge, s.paused.maxAge, s.document.maxAge = maxPageAge, maxPageAge, maxDocumentAge
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /status.json", s.serveJSON)
	mux.HandleFunc("GET /healthz", s.serveHealth)
	mux.HandleFunc("GET /readyz", s.serveReady)
	if opts.Gatherer != nil {
		mux.Handle("GET /metrics", newExposition(opts))
	}
	if opts.Hint != nil && opts.WebhookToken != nil {
		mux.Handle("POST /webhook", newWebhook(opts))
	}
	return secureHandler{next: mux, policy: contentSecurityPolicy(), log: opts.Logger}
}

// gatherLog writes the errors of the metrics handler to the agent's log.
type gatherLog struct{ log *slog.Logger }

// Println implements promhttp.Logger. The last argument is the error.
func (g gatherLog) Println(v ...any) {
	g.log.Warn("some metrics not gathered", "error", v[len(v)-1])
}
