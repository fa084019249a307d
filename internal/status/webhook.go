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

// maxWebhookBody is how much of a webhook's body is read, and forgotten, so that the sender can finish.
const maxWebhookBody = 1 << 20

// webhook turns a POST with the right token into a hint. What the sender says beside it is ignored: the remote alone tells what is new.
type webhook struct {
	hint     func()
	token    func() (string, error)
	log      *slog.Logger
	hints    *bucket // accepted webhooks
	refusals *bucket // log lines about refused ones
}

func newWebhook(opts Options) *webhook {
	return &webhook{
		hint: opts.Hint, token: opts.WebhookToken, log: opts.Logger,
		hints: newBucket(10, time.Second), refusals: newBucket(3, time.Minute),
	}
}

// ServeHTTP answers 202 to a hint, 401 to a wrong token, 429 to more than one hint a second in the long run, 404 where no
// webhook is configured, and 503 while its token cannot be read.
func (h *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, err := h.token()
	switch {
	case err != nil:
		h.refuse(r, "webhook token not read", "error", err)
		http.Error(w, "webhook token not readable", http.StatusServiceUnavailable)
	case token == "":
		http.NotFound(w, r)
	case !bears(r.Header.Get("Authorization"), token):
		h.refuse(r, "webhook refused", "remote", r.RemoteAddr)
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "want Authorization: Bearer and the webhook's token", http.StatusUnauthorized)
	case !h.hints.take(time.Now()):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many hints", http.StatusTooManyRequests)
	default:
		h.hint()
		h.log.DebugContext(r.Context(), "webhook taken", "remote", r.RemoteAddr)
		_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxWebhookBody))
		w.WriteHeader(http.StatusAccepted)
	}
}

// refuse logs a refusal, but not each one of a flood.
func (h *webhook) refuse(r *http.Request, message string, attrs ...any) {
	if h.refusals.take(time.Now()) {
		h.log.WarnContext(r.Context(), message, attrs...) //nolint:sloglint // the callers' messages are constants
	}
}

// bears reports whether an Authorization header carries the token. The time that it takes tells nothing about the token.
func bears(header, token string) bool {
	scheme, given, _ := strings.Cut(header, " ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	same := subtle.ConstantTimeCompare(a[:], b[:]) == 1
	return same && token != "" && strings.EqualFold(scheme, "Bearer")
}
