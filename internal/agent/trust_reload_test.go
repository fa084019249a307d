package agent

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gitops-agent/internal/sigtest"
	"gitops-agent/internal/tuftest"
	"gitops-agent/verify"
)

// trustedRootOf returns the trusted root of a Sigstore that is the same for the same seed.
func trustedRootOf(t *testing.T, seed string) []byte {
	t.Helper()
	s, err := sigtest.New(sigtest.Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	root, err := s.TrustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// host contains the files of an agent that define trust: a trusted root file and a state directory. They exist longer than each agent.
type host struct {
	*testing.T
	dir  string
	tuf  TUFConfig
	logs bytes.Buffer
	told []string // digests of the roots that were told of

	stateLost error // what the check of the state directory returns

	mu   sync.Mutex
	runs []error // of refreshes
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{T: t, dir: t.TempDir()}
	h.pin(trustedRootOf(t, "pinned"))
	return h
}

func (h *host) path(name string) string { return filepath.Join(h.dir, name) }

func (h *host) write(name string, content []byte) {
	h.Helper()
	if err := os.WriteFile(h.path(name), content, 0o600); err != nil {
		h.Fatal(err)
	}
}

func (h *host) pin(root []byte) {
	h.Helper()
	h.write("trusted_root.json", root)
}

// start returns the trust of a newly started agent.
func (h *host) start() *trust {
	h.Helper()
	var c Config
	c.Source.Branch, c.StateDir = "main", h.path("state")
	c.Trust = TrustConfig{
		TrustedRootFile: h.path("trusted_root.json"), Binding: "none", TrustOnFirstUse: true,
		Signers: []SignerConfig{{Name: "alice", Issuer: "https://issuer.test", Subject: "alice@lab.test", May: []string{"change"}}},
	}
	return &trust{
		stateLost: func() error { return h.stateLost },
		config:    c, tuf: h.tuf, log: slog.New(slog.NewTextHandler(&h.logs, nil)),
		onRoot: func(r verify.RootInfo) { h.told = append(h.told, fmt.Sprintf("%x", r.SHA256)) },
		onRefresh: func(err error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.runs = append(h.runs, err)
		},
	}
}

// refreshes returns the reported results of the refreshes.
func (h *host) refreshes() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.runs)
}

// inForce fails the test unless the policy in force uses root, and returns the policy.
func (h *host) inForce(t *trust, root []byte) *verify.Policy {
	h.Helper()
	policy, err := t.Policy()
	if err != nil {
		h.Fatalf("policy: got %v, want one", err)
	}
	if got, want := policy.Root().SHA256, tuftest.Digest(root); fmt.Sprintf("%x", got) != want {
		h.Errorf("root in force: got %x, want %s", got, want)
	}
	return policy
}

// said fails the test unless the log contains text the given number of times.
func (h *host) said(text string, want int) {
	h.Helper()
	if got := strings.Count(h.logs.String(), text); got != want {
		h.Errorf("log: got %q %d times, want %d:\n%s", text, got, want, h.logs.String())
	}
}

func TestPolicyStaysTheSame(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	agent := h.start()
	first := h.inForce(agent, trustedRootOf(t, "pinned"))
	if again := h.inForce(agent, trustedRootOf(t, "pinned")); again != first {
		t.Error("got another policy for the same root, which would have the accepted revision verified again")
	}
	h.pin(trustedRootOf(t, "pinned")) // touched, not changed
	if again := h.inForce(agent, trustedRootOf(t, "pinned")); again != first || len(h.told) != 1 {
		t.Errorf("got another policy for the same content, told of %d roots, want one", len(h.told))
	}
}

// TestPolicyFollowsTheFile replaces the file in the ways that are used in practice.
func TestPolicyFollowsTheFile(t *testing.T) {
	t.Parallel()
	tests := map[string]func(h *host, root []byte){
		"written_over": func(h *host, root []byte) { h.pin(root) },
		"renamed_over": func(h *host, root []byte) {
			h.write("new", root)
			h.rename("new", "trusted_root.json")
		},
		"symlink_replaced": func(h *host, root []byte) {
			h.write("v2.json", root)
			h.link("v2.json", "link")
			h.rename("link", "trusted_root.json")
		},
		"folder_behind_symlinks": func(h *host, root []byte) { // as Kubernetes mounts a ConfigMap
			h.folder("..1", trustedRootOf(h.T, "pinned"))
			h.folder("..2", root)
			h.link("..1", "..data")
			h.link(filepath.Join("..data", "root.json"), "link")
			h.rename("link", "trusted_root.json")
			h.inForce(h.start(), trustedRootOf(h.T, "pinned"))
			h.link("..2", "..data_tmp")
			h.rename("..data_tmp", "..data")
		},
		"same_size_and_time": func(h *host, root []byte) {
			before, err := os.Stat(h.path("trusted_root.json"))
			if err != nil {
				h.Fatal(err)
			}
			if int64(len(root)) != before.Size() {
				h.Fatalf("got roots of %d and %d bytes, want the test to tell nothing by size", len(root), before.Size())
			}
			h.pin(root)
			if err := os.Chtimes(h.path("trusted_root.json"), before.ModTime(), before.ModTime()); err != nil {
				h.Fatal(err)
			}
		},
	}
	for name, swap := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			agent := h.start()
			h.inForce(agent, trustedRootOf(t, "pinned"))
			next := trustedRootOf(t, "other1")
			swap(h, next)
			h.inForce(agent, next)
			h.said("trusted root replaced", 1)
			if len(h.told) < 2 || h.told[len(h.told)-1] != tuftest.Digest(next) {
				t.Errorf("told of %v, want the new root last", h.told)
			}
		})
	}
}

func (h *host) rename(from, to string) {
	h.Helper()
	if err := os.Rename(h.path(from), h.path(to)); err != nil {
		h.Fatal(err)
	}
}

func (h *host) link(target, name string) {
	h.Helper()
	if err := os.Symlink(target, h.path(name)); err != nil {
		h.Fatal(err)
	}
}

func (h *host) folder(name string, root []byte) {
	h.Helper()
	if err := os.Mkdir(h.path(name), 0o700); err != nil {
		h.Fatal(err)
	}
	h.write(filepath.Join(name, "root.json"), root)
}

// TestPolicyKeepsTheLastRoot: a file without a valid trusted root changes nothing and is reported once. The next valid file comes into force.
func TestPolicyKeepsTheLastRoot(t *testing.T) {
	t.Parallel()
	good := trustedRootOf(t, "pinned")
	tests := map[string]func(h *host){
		"not_json":  func(h *host) { h.pin([]byte("{")) },
		"cut_short": func(h *host) { h.pin(good[:len(good)/2]) },
		"empty":     func(h *host) { h.pin(nil) },
		"no_logs": func(h *host) {
			h.pin([]byte(`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`))
		},
		"too_large": func(h *host) { h.pin(append(bytes.Clone(good), bytes.Repeat([]byte(" "), maxTrustedRoot)...)) },
		"missing":   func(h *host) { h.rename("trusted_root.json", "away") },
		"a_folder":  func(h *host) { h.rename("trusted_root.json", "away"); h.folder("trusted_root.json", nil) },
		"a_pipe": func(h *host) {
			h.rename("trusted_root.json", "away")
			if err := syscall.Mkfifo(h.path("trusted_root.json"), 0o600); err != nil {
				h.Fatal(err)
			}
		},
		"broken_link": func(h *host) { h.link("nowhere", "link"); h.rename("link", "trusted_root.json") },
	}
	for name, harm := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			agent := h.start()
			first := h.inForce(agent, good)
			harm(h)
			for range 3 {
				if again := h.inForce(agent, good); again != first {
					t.Error("got another policy, want the last good one")
				}
			}
			h.said("trusted root rejected", 1)
			if _, err := h.start().Policy(); err == nil {
				t.Error("an agent that starts with it: got a policy, want an error")
			}
			if err := os.RemoveAll(h.path("trusted_root.json")); err != nil {
				t.Fatal(err)
			}
			h.pin(trustedRootOf(t, "other1"))
			h.inForce(agent, trustedRootOf(t, "other1"))
		})
	}
}

// TestPolicyConcurrently: polls, plans and reports call Policy concurrently while the file changes.
func TestPolicyConcurrently(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	agent := h.start()
	done := make(chan error, 4)
	for range cap(done) {
		go func() {
			for range 50 {
				if _, err := agent.Policy(); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for i := range 20 {
		h.write("new", trustedRootOf(t, fmt.Sprintf("other%d", i%2)))
		h.rename("new", "trusted_root.json")
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Errorf("policy: got %v, want one at any moment", err)
		}
	}
	h.inForce(agent, trustedRootOf(t, "other1"))
}

// soon returns an expiry after the end of every test.
func soon() time.Time { return time.Now().UTC().Truncate(time.Second).Add(24 * time.Hour) }

// A trusted root that cannot be read leaves the previous one in force, and is in doubt until it can be read.
func TestTrustedRootInDoubt(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	trusted := h.start()
	doubt := func(what, want string) {
		t.Helper()
		_, err := trusted.Policy()
		got := trusted.doubt()
		if err != nil || (got == nil) != (want == "") || got != nil && !strings.Contains(got.Error(), want) {
			t.Errorf("%s: got %v and the doubt %v, want the previous root and %q", what, err, got, want)
		}
	}
	doubt("valid", "")
	h.write("trusted_root.json", []byte("{"))
	doubt("broken", "trusted root")
	if err := os.Remove(h.path("trusted_root.json")); err != nil {
		t.Fatal(err)
	}
	doubt("gone", "no such file")
	h.pin(trustedRootOf(t, "pinned"))
	doubt("back", "")
	trusted.tuf.URL = "http://127.0.0.1:1/"
	if err := trusted.refresh(t.Context()); err == nil {
		t.Fatal("got no error of a repository that does not answer")
	}
	doubt("not refreshed", "refresh trusted root")
}
