package status

import (
	"io"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"gitops-agent/internal/status/access"
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
	hints    *rate.Limiter // accepted webhooks
	refusals *rate.Limiter // log lines about refused webhooks
}

func newWebhook(opts Options) *webhook {
	return &webhook{
		hint: opts.Hint, token: opts.WebhookToken, log: opts.Logger,
		hints: rate.NewLimiter(rate.Every(time.Second), 10), refusals: rate.NewLimiter(rate.Every(time.Minute), 3),
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
	case !access.HasBearer(r.Header, token):
		h.logRefusal(r, "webhook refused", "remote", r.RemoteAddr)
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "the header Authorization must be \"Bearer\" and the webhook token", http.StatusUnauthorized)
	case !h.hints.Allow():
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
	if h.refusals.Allow() {
		h.log.WarnContext(r.Context(), message, attrs...) //nolint:sloglint // the callers' messages are constants
	}
}
