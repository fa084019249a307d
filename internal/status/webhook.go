package status

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// maxWebhookBody bounds the part of an unsigned body that is read, in bytes. The handler reads and discards it so that the sender can finish
// sending.
const maxWebhookBody = 1 << 20

// Webhook is a path on which a forge can request a poll.
type Webhook struct {
	Forge WebhookForge
	// Secret returns the secret that the sender must know, without surrounding white space. Each request calls it, so that the secret can be
	// rotated. Several webhooks of one forge share a path, and each secret is accepted.
	Secret func() (string, error)
}

// webhook requests a poll for each POST whose sender knows the secret. It ignores the content of the request, because only the remote itself is
// asked for new commits. A repeated request is a request to poll and does no harm, so no request is remembered.
type webhook struct {
	forge    WebhookForge
	secrets  []func() (string, error)
	hint     func()
	result   func(WebhookResult)
	log      *slog.Logger
	hints    *rate.Limiter // accepted webhooks, of all forges
	refusals *rate.Limiter // log lines about refused webhooks, of all forges
}

// newWebhooks returns the handler of each path.
func newWebhooks(opts Options) map[string]*webhook {
	hints, refusals := rate.NewLimiter(rate.Every(time.Second), 10), rate.NewLimiter(rate.Every(time.Minute), 3)
	handlers := make(map[string]*webhook, len(opts.Webhooks))
	for _, w := range opts.Webhooks {
		h := handlers[w.Forge.path()]
		if h == nil {
			h = &webhook{forge: w.Forge, hint: opts.Hint, result: opts.OnWebhook, log: opts.Logger, hints: hints, refusals: refusals}
			handlers[w.Forge.path()] = h
		}
		h.secrets = append(h.secrets, w.Secret)
	}
	return handlers
}

// ServeHTTP answers 202 if it requested a poll, 401 to a request without the secret or its signature, and 413 to a signed body of more than
// 25 MiB. It answers 429 to more than ten accepted requests at once and one per second after that, and 503 if a secret cannot be read.
func (h *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secrets, err := h.readSecrets()
	if err != nil {
		h.refuse(r, WebhookSecret, err)
		http.Error(w, "the agent cannot read its webhook secret", http.StatusServiceUnavailable)
		return
	}
	given, found := h.forge.proofOf(r.Header)
	err = errWebhookCredentials
	if found {
		err = given.check(secrets, http.MaxBytesReader(w, r.Body, maxSignedBody))
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		h.refuse(r, WebhookSize, err)
		http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
	case err != nil:
		h.refuse(r, WebhookCredentials, err)
		if h.forge == WebhookBearer {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		http.Error(w, h.forge.remedy(), http.StatusUnauthorized)
	case !h.hints.Allow():
		h.result(WebhookRate)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests, retry after 1 s", http.StatusTooManyRequests)
	default:
		h.hint()
		h.result(WebhookAccepted)
		h.log.DebugContext(r.Context(), "webhook accepted", "forge", h.forge, "remote", r.RemoteAddr)
		_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxWebhookBody))
		w.WriteHeader(http.StatusAccepted)
	}
}

// readSecrets returns every secret. An empty one is an error: a signature with an empty key proves nothing.
func (h *webhook) readSecrets() ([]string, error) {
	secrets := make([]string, 0, len(h.secrets))
	for _, read := range h.secrets {
		secret, err := read()
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, secret)
	}
	if slices.Contains(secrets, "") {
		return nil, errors.New("the file with the secret is empty")
	}
	return secrets, nil
}

// remedy says what a request must contain.
func (f WebhookForge) remedy() string {
	switch f {
	case WebhookGitHub:
		return "the header X-Hub-Signature-256 must be the signature of the body: set the same secret at GitHub and in the agent's config"
	case WebhookGitea:
		return "the header X-Gitea-Signature must be the signature of the body: set the same secret at the forge and in the agent's config"
	case WebhookGitLab:
		return "the header X-Gitlab-Token must be the secret: set the same secret token at GitLab and in the agent's config"
	case WebhookBitbucket:
		return "the header X-Hub-Signature must be the signature of the body with SHA-256: set the same secret at Bitbucket and in the agent's config"
	case WebhookBearer:
	}
	return "the header Authorization must be \"Bearer\" and the webhook token"
}

// refuse counts a refused webhook, and logs it at a bounded rate. The error contains no secret.
func (h *webhook) refuse(r *http.Request, result WebhookResult, err error) {
	h.result(result)
	if h.refusals.Allow() {
		h.log.WarnContext(r.Context(), "webhook refused", "forge", h.forge, "reason", result, "error", err, "remote", r.RemoteAddr)
	}
}
