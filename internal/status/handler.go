package status

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"gitops-agent/internal/status/access"
)

// Handler returns a handler for GET /, /guests/…, /graph, /events, /page.js, /status.json, /inventory.json, /targets.json, /healthz, /readyz and /metrics, and for POST /webhook and
// /webhook/FORGE, if there are such webhooks. Another method on one of
// these paths is answered with 405 and Allow, another path with 404.
func Handler(opts Options) http.Handler {
	s := newSite(opts)
	opts = s.opts
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /graph", s.serveGraph)
	mux.HandleFunc("GET /guests/{ref}", s.serveGuest)
	mux.HandleFunc("GET /guests/{kind}/{ref}", s.serveGuest)
	mux.HandleFunc("GET /events", s.serveEvents)
	mux.HandleFunc("GET /page.js", serveScript)
	mux.HandleFunc("GET /status.json", s.serveJSON)
	mux.HandleFunc("GET /inventory.json", s.serveInventory)
	mux.HandleFunc("GET /targets.json", s.serveTargets)
	mux.HandleFunc("GET /healthz", s.serveHealth)
	mux.HandleFunc("GET /readyz", s.serveReady)
	if opts.Gatherer != nil {
		mux.Handle("GET /metrics", newExposition(opts))
	}
	var own []string
	if opts.Hint != nil {
		for path, webhook := range newWebhooks(opts) {
			own = append(own, path)
			mux.Handle("POST "+path, webhook)
		}
	}
	var routes http.Handler = mux
	if opts.Access != nil {
		routes = opts.Access.Handler(mux, access.Exempt{Probes: []string{"/healthz", "/readyz"}, Own: own})
	}
	return Secure(below(opts.Path, routes), opts.Logger)
}

// Local returns a handler for GET /status.json and POST /poll, which lets the agent fetch the branch now, for the commands on the agent's host: their connections are checked before, so
// Access and Path have no effect.
func Local(opts Options) http.Handler {
	s := newSite(opts)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status.json", s.serveJSON)
	mux.HandleFunc("POST /poll", func(w http.ResponseWriter, _ *http.Request) {
		opts.Hint()
		w.WriteHeader(http.StatusAccepted)
	})
	return Secure(mux, s.opts.Logger)
}

func newSite(opts Options) *site {
	opts = opts.withDefaults()
	s := &site{opts: opts, started: time.Now(), rendering: make(chan struct{}, maxRendering), streams: make(chan struct{}, opts.Streams)}
	s.reloading.maxAge, s.paused.maxAge, s.document.maxAge = maxPageAge, maxPageAge, maxDocumentAge
	return s
}

// below returns a handler for a path and everything below it, for reverse proxies that do not remove the path, and for /, for those that do and for probes.
func below(path string, next http.Handler) http.Handler {
	path = "/" + strings.Trim(path, "/")
	if path == "/" {
		return next
	}
	inside := http.StripPrefix(path, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == path:
			w.Header().Set("Location", path+"/") // the links of the page are relative to a folder
			w.WriteHeader(http.StatusPermanentRedirect)
		case strings.HasPrefix(r.URL.Path, path+"/"):
			inside.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// gatherLog writes the errors of the metrics handler to the agent's log.
type gatherLog struct{ log *slog.Logger }

// Println implements promhttp.Logger. The last argument is the error.
func (g gatherLog) Println(v ...any) {
	g.log.Warn("some metrics not gathered", "error", v[len(v)-1])
}
