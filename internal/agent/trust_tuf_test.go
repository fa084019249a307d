package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/sigtest"
	"gitops-agent/internal/tuftest"
)

func TestRefreshTakesTheNewRoot(t *testing.T) {
	t.Parallel()
	h, m := newHost(t), tuftest.New(t)
	h.follow(m)
	pinned, second, third := trustedRootOf(t, "pinned"), trustedRootOf(t, "second"), trustedRootOf(t, "third")
	agent := h.start()
	first := h.inForce(agent, pinned)

	m.Publish(pinned, soon())
	if err := agent.refresh(t.Context()); err != nil || h.inForce(agent, pinned) != first {
		t.Errorf("refresh without news: got %v, want the policy to stay", err)
	}
	for _, root := range [][]byte{second, third} {
		m.Publish(root, soon())
		if err := agent.refresh(t.Context()); err != nil {
			t.Fatalf("refresh: got %v, want the new root", err)
		}
		h.inForce(agent, root)
	}
	h.said("trusted root replaced", 2)
	h.said("level=WARN", 0)
	if got := h.told[len(h.told)-1]; got != tuftest.Digest(third) {
		t.Errorf("told of %s, want %s", got, tuftest.Digest(third))
	}
}

// TestRefreshOutlivesTheAgent: otherwise an attacker who blocks the mirror could bring back the older root by a restart.
func TestRefreshOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	h, m := newHost(t), tuftest.New(t)
	h.follow(m)
	second := trustedRootOf(t, "second")
	m.Publish(second, soon())
	if err := h.start().refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.Instead(http.NotFound)
	agent := h.start()
	h.inForce(agent, second)
	if err := agent.refresh(t.Context()); err == nil {
		t.Error("refresh without a mirror: got no error")
	}
	h.inForce(agent, second)

	h.tuf = TUFConfig{}
	h.inForce(h.start(), trustedRootOf(t, "pinned")) // who turns refreshing off means the file
}

// TestRefreshKeepsTheLastRoot contains the ways in which a refresh can fail. After each of them the root in force does not change, also
// not after a restart, and the failure is logged.
func TestRefreshKeepsTheLastRoot(t *testing.T) {
	t.Parallel()
	second := trustedRootOf(t, "second")
	tests := map[string]struct {
		harm func(h *host, m *tuftest.Mirror)
		want string
	}{
		"rolled_back": {func(h *host, m *tuftest.Mirror) { m.Put("/timestamp.json", m.Get("/older/timestamp.json")) }, "version"},
		"expired":     {func(h *host, m *tuftest.Mirror) { m.Publish(trustedRootOf(h.T, "third"), time.Now().Add(-time.Hour)) }, "expired"},
		"mirror_gone": {func(h *host, m *tuftest.Mirror) { m.Instead(http.NotFound) }, "404"},
		"mirror_broken": {func(h *host, m *tuftest.Mirror) {
			m.Instead(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
		}, "500"},
		"not_tuf": {func(h *host, m *tuftest.Mirror) {
			m.Instead(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(`{"signed":{},"signatures":[null]}`))
			})
		}, ""},
		"endless": {func(h *host, m *tuftest.Mirror) {
			m.Instead(func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<16))
				}
			})
		}, "larger than expected"},
		"other_keys": {func(h *host, m *tuftest.Mirror) {
			stranger := tuftest.New(h.T)
			stranger.Version = m.Version
			stranger.Publish(trustedRootOf(h.T, "third"), soon())
			m.Put("/timestamp.json", stranger.Get("/timestamp.json"))
		}, "timestamp"},
		"target_altered": {func(h *host, m *tuftest.Mirror) {
			third := trustedRootOf(h.T, "third")
			m.Publish(third, soon())
			m.Put("/targets/"+tuftest.Digest(third)+"."+rootTarget, trustedRootOf(h.T, "other3"))
		}, ""},
		"target_missing": {func(h *host, m *tuftest.Mirror) {
			third := trustedRootOf(h.T, "third")
			m.Publish(third, soon())
			m.Withdraw("/targets/" + tuftest.Digest(third) + "." + rootTarget)
		}, "404"},
		"no_trusted_root": {func(h *host, m *tuftest.Mirror) { m.Publish([]byte(`{"signed by mistake": true}`), soon()) }, "trusted root"},
		"useless_root": {func(h *host, m *tuftest.Mirror) {
			m.Publish([]byte(`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`), soon())
		}, "no certificate authority"},
		"ended_root": {func(h *host, m *tuftest.Mirror) { m.Publish(endedRoot(h.T), soon()) }, "expired at"},
		"state_directory_removed": {func(h *host, m *tuftest.Mirror) {
			m.Publish(trustedRootOf(h.T, "third"), soon())
			h.stateLost = errors.New("the state directory was removed")
		}, "the state directory was removed"},
		"no_tuf_root": {func(h *host, _ *tuftest.Mirror) {
			if err := os.Remove(h.path("tuf-root.json")); err != nil {
				h.Fatal(err)
			}
		}, "root_file"},
		"pinned_file_gone": {func(h *host, m *tuftest.Mirror) {
			m.Publish(trustedRootOf(h.T, "third"), soon())
			h.rename("trusted_root.json", "away")
		}, "trusted root"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h, m := newHost(t), tuftest.New(t)
			h.follow(m)
			m.Publish(trustedRootOf(t, "first"), soon())
			m.Put("/older/timestamp.json", m.Get("/timestamp.json"))
			m.Publish(second, soon())
			agent := h.start()
			if err := agent.refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := h.inForce(agent, second)
			tt.harm(h, m)
			err := agent.refresh(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("refresh: got %v, want an error that speaks of %q", err, tt.want)
			}
			if h.inForce(agent, second) != before {
				t.Error("got another policy, want the last good one")
			}
			h.said("trusted root not refreshed", 1)
			if runs := h.refreshes(); len(runs) != 2 || !errors.Is(runs[1], err) {
				t.Errorf("told of refreshes %v, want a good one and %v", runs, err)
			}
			if name != "pinned_file_gone" {
				h.inForce(h.start(), second)
			}
		})
	}
}

// endedRoot returns the trusted root of a Sigstore that no longer operates.
func endedRoot(t *testing.T) []byte {
	t.Helper()
	s, err := sigtest.New(sigtest.Options{Seed: "ended"})
	if err != nil {
		t.Fatal(err)
	}
	s.Retire(sigtest.CA, time.Now().Add(-time.Hour))
	root, err := s.TrustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// TestRefreshFollowsItsKeys: the keys of the TUF repository may change, as long as each root is signed by the one before.
func TestRefreshFollowsItsKeys(t *testing.T) {
	t.Parallel()
	h, m := newHost(t), tuftest.New(t)
	h.follow(m)
	m.Rotate("timestamp")
	m.Rotate("targets")
	second := trustedRootOf(t, "second")
	m.Publish(second, soon())
	agent := h.start()
	h.inForce(agent, trustedRootOf(t, "pinned"))
	if err := agent.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.inForce(agent, second)
}

// TestFileHasTheLastWord: a file that was changed on the host is in force until TUF returns a new root.
func TestFileHasTheLastWord(t *testing.T) {
	t.Parallel()
	h, m := newHost(t), tuftest.New(t)
	h.follow(m)
	second, third, byHand := trustedRootOf(t, "second"), trustedRootOf(t, "third"), trustedRootOf(t, "byhand")
	m.Publish(second, soon())
	agent := h.start()
	if err := agent.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.pin(byHand)
	h.inForce(agent, byHand)
	m.Publish(second, soon()) // metadata is renewed all the time; the content is no news
	if err := agent.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.inForce(agent, byHand)
	h.inForce(h.start(), byHand)
	m.Publish(third, soon())
	if err := agent.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.inForce(agent, third)
	h.inForce(h.start(), third)
}

// TestDamagedStoreIsReported: if the stored root is damaged, the file is in force.
func TestDamagedStoreIsReported(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"not_json": "{", "no_root": `{"URL":"x"}`, "another_root": `{"Root":"e30="}`,
	} {
		t.Run(name, func(t *testing.T) {
			h, m := newHost(t), tuftest.New(t)
			h.follow(m)
			second := trustedRootOf(t, "second")
			m.Publish(second, soon())
			agent := h.start()
			if err := agent.refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(agent.store().file(), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			agent = h.start()
			h.inForce(agent, trustedRootOf(t, "pinned"))
			h.said("refreshed trusted root not read", 1)
			if err := agent.refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.inForce(agent, second)
		})
	}
}

// TestAnotherMirrorBeginsAgain: the stored root of one repository is not used for another one.
func TestAnotherMirrorBeginsAgain(t *testing.T) {
	t.Parallel()
	h, m := newHost(t), tuftest.New(t)
	h.follow(m)
	m.Publish(trustedRootOf(t, "second"), soon())
	if err := h.start().refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.follow(tuftest.New(t))
	h.inForce(h.start(), trustedRootOf(t, "pinned"))
}

// TestRefreshDoesNotBlock: only the refresh waits for a mirror that does not answer, and the refresh ends with the agent.
func TestRefreshDoesNotBlock(t *testing.T) {
	t.Parallel()
	h, m := newHost(t), tuftest.New(t)
	h.follow(m)
	entered := make(chan struct{}, 1)
	m.Instead(func(_ http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-r.Context().Done()
	})
	agent := h.start()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- agent.refresh(ctx) }()
	<-entered
	h.inForce(agent, trustedRootOf(t, "pinned"))
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || len(h.refreshes()) != 0 {
		t.Errorf("got %v, told of %v, want the refresh to end with the agent and blame nobody", err, h.refreshes())
	}
	h.said("level=WARN", 0)
}

// TestKeepFresh: a refresh runs at the start, then once each interval, and earlier after a failure.
func TestKeepFresh(t *testing.T) {
	t.Parallel()
	h, m := newHost(t), tuftest.New(t)
	h.follow(m)
	synctest.Test(t, func(t *testing.T) {
		m.Publish(trustedRootOf(t, "second"), time.Now().AddDate(1, 0, 0)) // the bubble's clock stands elsewhere
		ctx, cancel := context.WithCancel(t.Context())
		agent, ended := h.start(), make(chan struct{})
		go func() {
			defer close(ended)
			agent.keepFresh(ctx)
		}()
		time.Sleep(49 * time.Hour)
		synctest.Wait()
		if got := m.Refreshes(); got != 3 {
			t.Errorf("in two days: got %d refreshes, want 3:\n%s", got, h.logs.String())
		}
		m.Instead(http.NotFound)
		time.Sleep(24 * time.Hour) // the next is due after 23 of them
		synctest.Wait()
		failed := len(h.refreshes())
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if got := len(h.refreshes()) - failed; got != 3 {
			t.Errorf("while the mirror is away: got %d refreshes in 3 hours, want 3", got)
		}
		cancel()
		<-ended
	})
	(&trust{}).keepFresh(t.Context()) // returns at once
}

// TestConfigPolicyIsTheAgents: the commands verify with the policy with which an agent would start.
func TestConfigPolicyIsTheAgents(t *testing.T) {
	t.Parallel()
	h, m := newHost(t), tuftest.New(t)
	h.follow(m)
	second := trustedRootOf(t, "second")
	m.Publish(second, soon())
	agent := h.start()
	if err := agent.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for want, tuf := range map[string]TUFConfig{tuftest.Digest(second): h.tuf, tuftest.Digest(trustedRootOf(t, "pinned")): {}} {
		c := agent.config
		c.Trust.TUF = tuf
		policy, err := c.Policy()
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", policy.Root().SHA256); got != want {
			t.Errorf("with TUF at %q: got root %s, want %s", tuf.URL, got, want)
		}
	}
	if err := os.WriteFile(agent.store().file(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	agent.config.Trust.TUF = h.tuf
	if _, err := agent.config.Policy(); err == nil {
		t.Error("with a damaged store: got a policy that is not the agent's, want an error")
	}
}

func TestTUFConfigCheck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config TUFConfig
		want   string
	}{
		"none":        {TUFConfig{}, ""},
		"whole":       {TUFConfig{URL: "https://tuf.example.org/x", RootFile: "root.json"}, ""},
		"no_root":     {TUFConfig{URL: "https://tuf.example.org"}, "required together"},
		"no_url":      {TUFConfig{RootFile: "root.json"}, "required together"},
		"file":        {TUFConfig{URL: "file:///srv/tuf", RootFile: "root.json"}, "want https://"},
		"not_a_url":   {TUFConfig{URL: "::", RootFile: "root.json"}, "want https://"},
		"credentials": {TUFConfig{URL: "https://user:secret@tuf.example.org", RootFile: "root.json"}, "credentials"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := tt.config.check()
			if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// follow configures the host to refresh from the mirror, with the mirror's first root.
func (h *host) follow(m *tuftest.Mirror) {
	h.Helper()
	h.write("tuf-root.json", m.Get("/1.root.json"))
	h.tuf = TUFConfig{URL: m.URL, RootFile: h.path("tuf-root.json")}
}
