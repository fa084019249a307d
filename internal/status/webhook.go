package status

import (
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// maxWebhookBody bounds the part of a webhook's body that is read, in bytes. The handler reads and discards it so that the sender can
// finish sending.
const maxWebhookBody = 1 << 20

// webhook requests a poll for each POST with the correct token. It ignores the content of the request, because only the remote itself is
// asked for new commits.
type webhook struct {
	hint     func()
	token    func() (string, error)
	log      *slog.Logger
	hints    *tokenBucket // accepted webhooks
	refusals *tokenBucket // log lines about refused webhooks
}

func newWebhook(opts Options) *webhook {
	return &webhook{
		hint: opts.Hint, token: opts.WebhookToken, log: opts.Logger,
		hints: newTokenBucket(10, time.Second), refusals: newTokenBucket(3, time.Minute),
	}
}

// ServeHTTP answers 202 if it requested a poll, 401 to a wrong token, and 404 if no webhook is configured. It answers 429 to more than
// ten requests at once and one per second after that, and 503 if the token cannot be read.
func (h *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, err := h.token()
	switch {
	case err != nil:
		h.logRefusal(r, "webhook token not read", "error", err)
		http.Error(w, "the agent cannot read its webhook token", http.StatusServiceUnavailable)
	case token == "":
		http.NotFound(w, r)
	case !hasToken(r.Header.Get("Authorization"), token):
		h.logRefusal(r, "webhook refused", "remote", r.RemoteAddr)
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "the header Authorization must be \"Bearer\" and the webhook token", http.StatusUnauthorized)
	case !h.hints.take(time.Now()):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests, retry after 1 s", http.StatusTooManyRequests)
	default:
		h.hint()
		h.log.DebugContext(r.Context(), "webhook accepted", "remote", r.RemoteAddr)
		_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxWebhookBody))
		w.WriteHeader(http.StatusAccepted)
	}
}

// logRefusal logs a refused webhook, at a bounded rate.
func (h *webhook) logRefusal(r *http.Request, message string, attrs ...any) {
	if h.refusals.take(time.Now()) {
		h.log.WarnContext(r.Context(), message, attrs...) //nolint:sloglint // the callers' messages are constants
	}
}

// hasToken reports whether an Authorization header contains the token. Its duration does not depend on the token.
func hasToken(header, token string) bool {
	scheme, given, _ := strings.Cut(header, " ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	same := subtle.ConstantTimeCompare(a[:], b[:]) == 1
	return same && token != "" && strings.EqualFold(scheme, "Bearer")
}
