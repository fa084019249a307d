package agent_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/internal/agent"
)

// A webhook of a forge is accepted without a user of the status page, under another name of the host, and with a secret that was replaced meanwhile.
func TestWebhookSecretIsReadAgain(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	address := "127.0.0.1:0"
	h.config.Listen = &address
	h.config.Status.TokenFile = filepath.Join(t.TempDir(), "status-token")
	h.write(h.config.Status.TokenFile, "t0ken\n")
	secret := filepath.Join(t.TempDir(), "webhook-secret")
	h.write(secret, "before\n")
	h.config.Source.Webhooks = []agent.WebhookConfig{{Forge: "gitlab", SecretFile: secret}}
	h.ok(h.config.Check())
	a, err := h.open()
	h.ok(err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	ask := func(token string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.Address()+"/webhook/gitlab", http.NoBody)
		h.ok(err)
		r.Host = "agent.example.org"
		r.Header.Set("X-Gitlab-Token", token)
		response, err := http.DefaultClient.Do(r)
		h.ok(err)
		h.ok(response.Body.Close())
		return response.StatusCode
	}
	if got := ask("before"); got != http.StatusAccepted {
		t.Errorf("got %d, want 202", got)
	}
	h.write(secret, "after\n")
	if before, after := ask("before"), ask("after"); before != http.StatusUnauthorized || after != http.StatusAccepted {
		t.Errorf("after the secret was replaced: got %d for the old and %d for the new one, want 401 and 202", before, after)
	}
	stop()
	h.ok(<-ended)
	h.ok(a.Close())
}

func TestWebhookConfigProblems(t *testing.T) {
	t.Parallel()
	_, err := agent.ParseConfig([]byte(strings.Replace(smallest, "source: {", "source: {webhooks: [{forge: bearer, secret_file: x}, {forge: github}], ", 1)))
	for _, want := range []string{`source.webhooks[0].forge: got "bearer", want one of github, gitea, gitlab, bitbucket`, "source.webhooks[1].secret_file is required"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	h := newHome(t)
	empty := filepath.Join(t.TempDir(), "empty")
	h.write(empty, "\n")
	h.config.Source.Webhooks = []agent.WebhookConfig{{Forge: "github", SecretFile: empty}, {Forge: "gitea", SecretFile: empty + ".absent"}}
	err = h.config.Check()
	for _, want := range []string{"source.webhooks[0].secret_file: " + empty + " is empty", "source.webhooks[1].secret_file: open"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
