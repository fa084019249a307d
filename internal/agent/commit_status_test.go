package agent_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/agent"
	"gitops-agent/internal/sigtest"
)

// The forge shows that a revision converged, and that a push was refused.
func TestCommitStatus(t *testing.T) {
	t.Parallel()
	type status struct{ commit, state, token, description string }
	got := make(chan status, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ State, Description string }
		data, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(data, &body)
		commit, _ := strings.CutPrefix(r.URL.Path, "/api/v1/repos/example/homelab/statuses/")
		w.WriteHeader(http.StatusCreated)
		got <- status{commit, body.State, r.Header.Get("Authorization"), body.Description}
	}))
	t.Cleanup(server.Close)
	h := newHome(t)
	first := h.push("a container")
	token := filepath.Join(t.TempDir(), "token")
	h.write(token, "S3cret\n")
	h.config.CommitStatus = agent.CommitStatusConfig{Forge: "gitea", TokenFile: token, API: server.URL + "/api/v1", Repository: "example/homelab"}
	h.ok(h.config.Check())
	a, err := h.open()
	h.ok(err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	until := func(commit, state string) status {
		for {
			select {
			case s := <-got:
				if s.commit == commit && s.state == state {
					return s
				}
			case <-time.After(2 * time.Minute):
				t.Fatalf("got no status %s of %s within two minutes", state, commit)
			}
		}
	}
	if s := until(first, "success"); s.token != "token S3cret" {
		t.Errorf("got %q as Authorization, want the token of the file", s.token)
	}
	h.repo.Files["more.yaml"] = strings.NewReplacer("dns-1", "dns-2", "210", "211").Replace(dnsYAML)
	refused := h.repo.Push(h.sig, sigtest.Identity{Subject: "bob@example.org", Issuer: alice.Issuer}, "another container")
	a.Hint()
	if s := until(refused, "failure"); !strings.HasPrefix(s.description, "refused (") {
		t.Errorf("got %q, want the reason", s.description)
	}
	stop()
	h.ok(<-ended)
	h.ok(a.Close())
}

func TestCommitStatusProblems(t *testing.T) {
	t.Parallel()
	_, err := agent.ParseConfig([]byte(smallest + "commit_status: {forge: svn}\n"))
	for _, want := range []string{`commit_status.forge: got "svn", want one of github, gitlab, gitea`, "commit_status.token_file is required", "set api and repository"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	h := newHome(t)
	h.config.CommitStatus = agent.CommitStatusConfig{Forge: "github", TokenFile: "/nowhere/token", API: "https://api.github.com", Repository: "example/homelab"}
	if err := h.config.Check(); err == nil || !strings.Contains(err.Error(), "commit_status.token_file: open /nowhere/token") {
		t.Errorf("got %v, want the token that cannot be read", err)
	}
}
