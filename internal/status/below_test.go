package status_test

import (
	"net/http"
	"testing"

	"gitops-agent/internal/status"
	"gitops-agent/internal/status/access"
)

// A reverse proxy may remove the path under which it publishes the page, or not.
func TestHandlerBelowAPath(t *testing.T) {
	t.Parallel()
	atNoon(t, func(t *testing.T) {
		opts := optionsFor(steady())
		opts.Path = "/gitops/"
		tests := map[string]int{
			"/": 200, "/status.json": 200, "/healthz": 200, "/gitops/": 200, "/gitops/status.json": 200, "/gitops/healthz": 200,
			"/gitops": http.StatusPermanentRedirect, "/gitopsstatus.json": 404, "/gitops/gitops/": 404, "/other/": 404,
		}
		for target, want := range tests {
			got, _ := ask(t, opts, http.MethodGet, target)
			if got.Code != want {
				t.Errorf("%s: got %d, want %d", target, got.Code, want)
			}
			if location := got.Header().Get("Location"); want == http.StatusPermanentRedirect && location != "/gitops/" {
				t.Errorf("%s: got Location %q, want /gitops/", target, location)
			}
		}
	})
}

// Every route but the probes and the webhook, which has a token of its own, requires the credentials, below a path too.
func TestHandlerWithAccess(t *testing.T) {
	t.Parallel()
	atNoon(t, func(t *testing.T) {
		opts := optionsFor(steady())
		opts.Path = "/gitops"
		opts.Hint, opts.Webhooks = func() {}, []status.Webhook{secretOf(status.WebhookBearer, "of the webhook")}
		var err error
		opts.Access, err = access.New(access.Options{Listen: "127.0.0.1:9746", Token: func() (string, error) { return "of the page", nil }})
		if err != nil {
			t.Fatal(err)
		}
		handler := status.Handler(opts)
		for _, prefix := range []string{"", "/gitops"} {
			for _, test := range []struct {
				method, path, token string
				want                int
			}{
				{http.MethodGet, "/", "", 401},
				{http.MethodGet, "/status.json", "", 401},
				{http.MethodGet, "/status.json", "of the webhook", 401},
				{http.MethodGet, "/absent", "", 401},
				{http.MethodGet, "/", "of the page", 200},
				{http.MethodGet, "/status.json", "of the page", 200},
				{http.MethodGet, "/healthz", "", 200},
				{http.MethodPost, "/webhook", "of the page", 401},
				{http.MethodPost, "/webhook", "of the webhook", 202},
			} {
				r, err := http.NewRequestWithContext(t.Context(), test.method, "http://localhost"+prefix+test.path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				if test.token != "" {
					r.Header.Set("Authorization", "Bearer "+test.token)
				}
				got, _ := send(t, handler, r)
				if got.Code != test.want || got.Header().Get("X-Content-Type-Options") != "nosniff" {
					t.Errorf("%s %s with %q: got %d and headers %v, want %d with the security headers", test.method, prefix+test.path, test.token, got.Code, got.Header(), test.want)
				}
			}
		}
	})
}
