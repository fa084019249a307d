package status

import (
	"log/slog"
	"net/http"
	"runtime/debug"

	"gitops-agent/internal/status/page"
)

// secureHandler adds security headers to every reply, also to errors. It answers 500 if the next handler panics, and logs the panic.
type secureHandler struct {
	next   http.Handler
	policy string // Content-Security-Policy
	log    *slog.Logger
}

// Secure returns a handler for pages of package page: it adds the security headers of the status page to every reply, and survives a panic.
func Secure(next http.Handler, log *slog.Logger) http.Handler {
	return secureHandler{next: next, policy: page.Policy(), log: log}
}

// ServeHTTP implements http.Handler.
func (s secureHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", s.policy)
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
		if cause == http.ErrAbortHandler { //nolint:errorlint // net/http compares with exactly this value
			panic(cause)
		}
		s.log.ErrorContext(r.Context(), "request panicked", "path", r.URL.Path, "cause", cause, "stack", string(debug.Stack()))
		http.Error(w, "internal error", http.StatusInternalServerError)
	}()
	s.next.ServeHTTP(w, r)
}
