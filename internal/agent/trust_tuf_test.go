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
)

func TestRefreshTakesTheNewRoot(t *testing.T) {
	t.Parallel()
	h, m := newHost(t), newMirror(t)
	h.follow(m)
	pinned, second, third := trustedRootOf(t, "pinned"), trustedRootOf(t, "second"), trustedRootOf(t, "third")
	agent := h.start()
	first := h.inForce(agent, pinned)

	m.publish(pinned, soon())
	if err := agent.refresh(t.Context()); err != nil || h.inForce(agent, pinned) != first {
		t.Errorf("refresh without news: got %v, want the policy to stay", err)
	}
	for _, root := range [][]byte{second, third} {
		m.publish(root, soon())
		if err := agent.refresh(t.Context()); err != nil {
			t.Fatalf("refresh: got %v, want the new root", err)
		}
		h.inForce(agent, root)
	}
	h.said("trusted root replaced", 2)
	h.said("level=WARN", 0)
	if got := h.told[len(h.told)-1]; got != digestOf(third) {
		t.Errorf("told of %s, want %s", got, digestOf(third))
	}
}

// TestRefreshOutlivesTheAgent: otherwise an attacker who blocks the mirror could bring back the older root by a restart.
func TestRefreshOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	h, m := newHost(t), newMirror(t)
	h.follow(m)
	second := trustedRootOf(t, "second")
	m.publish(second, soon())
	if err := h.start().refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.instead(http.NotFound)
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
		harm func(h *host, m *mirror)
		want string
	}{
		"rolled_back": {func(_ *host, m *mirror) { m.put("/timestamp.json", m.get("/older/timestamp.json")) }, "version"},
		"expired":     {func(_ *host, m *mirror) { m.publish(trustedRootOf(m.T, "third"), time.Now().Add(-time.Hour)) }, "expired"},
		"mirror_gone": {func(_ *host, m *mirror) { m.instead(http.NotFound) }, "404"},
		"mirror_broken": {func(_ *host, m *mirror) {
			m.instead(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
		}, "500"},
		"not_tuf": {func(_ *host, m *mirror) {
			m.instead(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(`{"signed":{},"signatures":[null]}`))
			})
		}, ""},
		"endless": {func(_ *host, m *mirror) {
			m.instead(func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<16))
				}
			})
		}, "larger than expected"},
		"other_keys": {func(_ *host, m *mirror) {
			stranger := newMirror(m.T)
			stranger.version = m.version
			stranger.publish(trustedRootOf(m.T, "third"), soon())
			m.put("/timestamp.json", stranger.get("/timestamp.json"))
		}, "timestamp"},
		"target_altered": {func(_ *host, m *mirror) {
			third := trustedRootOf(m.T, "third")
			m.publish(third, soon())
			m.put("/targets/"+digestOf(third)+"."+rootTarget, trustedRootOf(m.T, "other3"))
		}, ""},
		"target_missing": {func(_ *host, m *mirror) {
			third := trustedRootOf(m.T, "third")
			m.publish(third, soon())
			m.withdraw("/targets/" + digestOf(third) + "." + rootTarget)
		}, "404"},
		"no_trusted_root": {func(_ *host, m *mirror) { m.publish([]byte(`{"signed by mistake": true}`), soon()) }, "trusted root"},
		"useless_root": {func(_ *host, m *mirror) {
			m.publish([]byte(`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`), soon())
		}, "no certificate authority"},
		"ended_root": {func(_ *host, m *mirror) { m.publish(endedRoot(m.T), soon()) }, "expired at"},
		"state_directory_removed": {func(h *host, m *mirror) {
			m.publish(trustedRootOf(m.T, "third"), soon())
			h.stateLost = errors.New("the state directory was removed")
		}, "the state directory was removed"},
		"no_tuf_root": {func(h *host, _ *mirror) {
			if err := os.Remove(h.path("tuf-root.json")); err != nil {
				h.Fatal(err)
			}
		}, "root_file"},
		"pinned_file_gone": {func(h *host, m *mirror) {
			m.publish(trustedRootOf(m.T, "third"), soon())
			h.rename("trusted_root.json", "away")
		}, "trusted root"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h, m := newHost(t), newMirror(t)
			h.follow(m)
			m.publish(trustedRootOf(t, "first"), soon())
			m.put("/older/timestamp.json", m.get("/timestamp.json"))
			m.publish(second, soon())
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
	h, m := newHost(t), newMirror(t)
	h.follow(m)
	m.rotate("timestamp")
	m.rotate("targets")
	second := trustedRootOf(t, "second")
	m.publish(second, soon())
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
	h, m := newHost(t), newMirror(t)
	h.follow(m)
	second, third, byHand := trustedRootOf(t, "second"), trustedRootOf(t, "third"), trustedRootOf(t, "byhand")
	m.publish(second, soon())
	agent := h.start()
	if err := agent.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.pin(byHand)
	h.inForce(agent, byHand)
	m.publish(second, soon()) // metadata is renewed all the time; the content is no news
	if err := agent.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.inForce(agent, byHand)
	h.inForce(h.start(), byHand)
	m.publish(third, soon())
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
			h, m := newHost(t), newMirror(t)
			h.follow(m)
			second := trustedRootOf(t, "second")
			m.publish(second, soon())
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
	h, m := newHost(t), newMirror(t)
	h.follow(m)
	m.publish(trustedRootOf(t, "second"), soon())
	if err := h.start().refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.follow(newMirror(t))
	h.inForce(h.start(), trustedRootOf(t, "pinned"))
}

// TestRefreshDoesNotBlock: only the refresh waits for a mirror that does not answer, and the refresh ends with the agent.
func TestRefreshDoesNotBlock(t *testing.T) {
	t.Parallel()
	h, m := newHost(t), newMirror(t)
	h.follow(m)
	entered := make(chan struct{}, 1)
	m.instead(func(_ http.ResponseWriter, r *http.Request) {
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
	h, m := newHost(t), newMirror(t)
	h.follow(m)
	synctest.Test(t, func(t *testing.T) {
		m.publish(trustedRootOf(t, "second"), time.Now().AddDate(1, 0, 0)) // the bubble's clock stands elsewhere
		ctx, cancel := context.WithCancel(t.Context())
		agent, ended := h.start(), make(chan struct{})
		go func() {
			defer close(ended)
			agent.keepFresh(ctx)
		}()
		time.Sleep(49 * time.Hour)
		synctest.Wait()
		if got := m.refreshes(); got != 3 {
			t.Errorf("in two days: got %d refreshes, want 3:\n%s", got, h.logs.String())
		}
		m.instead(http.NotFound)
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
	h, m := newHost(t), newMirror(t)
	h.follow(m)
	second := trustedRootOf(t, "second")
	m.publish(second, soon())
	agent := h.start()
	if err := agent.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for want, tuf := range map[string]TUFConfig{digestOf(second): h.tuf, digestOf(trustedRootOf(t, "pinned")): {}} {
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
