package status

import (
	"log/slog"
	"net/http"
	"runtime/debug"
)

// guarded puts the security headers on every reply, errors included, and turns a panic into a 500 and a line in the log.
type guarded struct {
	next   http.Handler
	policy string // Content-Security-Policy
	log    *slog.Logger
}

// ServeHTTP implements http.Handler.
func (g guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", g.policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if cause == http.ErrAbortHandler { //nolint:errorlint // net/http compares this very value
			panic(cause)
		}
		g.log.ErrorContext(r.Context(), "request panicked", "path", r.URL.Path, "cause", cause, "stack", string(debug.Stack()))
		http.Error(w, "internal error", http.StatusInternalServerError)
	}()
	g.next.ServeHTTP(w, r)
}
