package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/agent"
	"gitops-agent/internal/gittest"
	"gitops-agent/internal/loopback"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/metrics"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// claimWait is how long the agents of the tests wait after their claim of the cluster. No other agent claims it meanwhile.
const claimWait = 30 * time.Millisecond

var alice = sigtest.Identity{Subject: "alice@example.org", Issuer: "https://accounts.test"}

const clusterYAML = `apiVersion: proxmox.gitops/v1alpha1
kind: Cluster
metadata: {name: home}
`

const dnsYAML = `apiVersion: proxmox.gitops/v1alpha1
kind: Container
metadata: {name: dns-1}
spec:
  vmid: 210
  node: pve1
  source: {template: {volume: "local:vztmpl/debian-12.tar.zst"}}
  memory: {size: 512Mi}
  rootfs: {storage: local-lvm, size: 4Gi}
`

// home contains the environment of an agent: a cluster over TLS, a Sigstore, and a repository.
type home struct {
	testing.TB
	sim    *pvesim.Sim
	sig    *sigtest.Sigstore
	repo   *gittest.Repo
	config agent.Config
}

func newHome(t testing.TB) *home {
	t.Helper()
	h := &home{TB: t, sim: pvesim.New(pvesim.Options{TaskTime: 10 * time.Millisecond}), repo: gittest.New(t)}
	t.Cleanup(h.sim.Close)
	h.ok(h.sim.AddVolume("local:vztmpl/debian-12.tar.zst", 120<<20))
	certificate, err := pvesim.NewCertificate()
	h.ok(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	h.ok(err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- h.sim.Serve(ctx, listener, certificate.Config) }()
	t.Cleanup(func() { stop(); h.ok(<-served) })
	dir := t.TempDir()
	h.sig, err = sigtest.New(sigtest.Options{CAKey: sigtest.P256})
	h.ok(err)
	h.ok(h.sig.Save(dir))
	h.write(filepath.Join(dir, "token"), h.sim.Token("gitops@pve!agent"))
	h.write(filepath.Join(dir, "webhook"), "a secret\n")
	h.write(filepath.Join(dir, "ca.pem"), string(certificate.PEM))
	listen, err := loopback.FreeAddress() // no other program gets it once the agent has ended
	h.ok(err)
	h.config = agent.Config{
		Cluster: agent.ClusterConfig{Name: "home"},
		Source: agent.SourceConfig{
			Branch: "main", Remotes: []agent.RemoteConfig{{URL: "file://" + h.repo.Dir}}, Poll: agent.Duration(time.Hour),
			WebhookTokenFile: filepath.Join(dir, "webhook"),
		},
		Trust: agent.TrustConfig{
			TrustedRootFile: filepath.Join(dir, sigtest.TrustedRootFile), Binding: "none", TrustOnFirstUse: true,
			Signers: []agent.SignerConfig{{Name: "alice", Issuer: alice.Issuer, Subject: alice.Subject, May: []string{"change"}}},
		},
		Proxmox: agent.ProxmoxConfig{
			Endpoints: []string{"https://" + listener.Addr().String()}, TokenFile: filepath.Join(dir, "token"), CAFile: filepath.Join(dir, "ca.pem"),
			Tick: agent.Duration(100 * time.Millisecond), Resync: agent.Duration(200 * time.Millisecond),
		},
		StateDir: filepath.Join(dir, "state"), Listen: &listen,
	}
	return h
}

func (h *home) ok(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *home) write(path, text string) {
	h.Helper()
	h.ok(os.WriteFile(path, []byte(text), 0o600))
}

func (h *home) push(message string) string {
	h.Helper()
	h.repo.Files = map[string]string{"cluster.yaml": clusterYAML, "dns.yaml": dnsYAML}
	return h.repo.Push(h.sig, alice, message)
}

func (h *home) open() (*agent.Agent, error) {
	return agent.New(context.Background(), agent.Options{
		Config: h.config, ClaimWait: claimWait, Build: metrics.Build{Version: "v1.2.3"}, Logger: slog.New(slog.DiscardHandler),
	})
}

// checkState fails for an entry of the state directory whose owner is not checked when the agent starts, and returns the entries.
func (h *home) checkState() []string {
	h.Helper()
	entries, err := os.ReadDir(h.config.StateDir)
	h.ok(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if !slices.Contains(agent.StateNames(), e.Name()) {
			h.Errorf("got %s in the state directory, want only entries that stateNames lists: %v", e.Name(), agent.StateNames())
		}
	}
	return names
}

// get returns the status and the body of a page of the agent.
func (h *home) get(a *agent.Agent, path string) (int, string) {
	h.Helper()
	reply, err := http.Get("http://" + a.Address() + path)
	h.ok(err)
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	h.ok(err)
	return reply.StatusCode, string(body)
}

// until reads the report of the running agent until it satisfies the condition.
func (h *home) until(a *agent.Agent, what string, holds func(report.Document) bool) {
	h.Helper()
	var document report.Document
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		_, body := h.get(a, "/status.json")
		h.ok(json.Unmarshal([]byte(body), &document))
		if holds(document) {
			return
		}
	}
	h.Fatalf("waited in vain for %s, got %+v", what, document)
}

// The whole agent, with TCP connections to its clients and to the cluster. It polls once an hour, so that the second commit needs the webhook.
func TestAgentRuns(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	first := h.push("a container")
	a, err := h.open()
	h.ok(err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	h.until(a, "convergence", func(d report.Document) bool { return d.Converged && d.Source.Accepted.Commit == first })
	if h.sim.Effects(210, pvesim.Created) != 1 {
		t.Errorf("got %d creations, want 1", h.sim.Effects(210, pvesim.Created))
	}
	if code, body := h.get(a, "/metrics"); code != http.StatusOK || !strings.Contains(body, `gitops_agent_build_info{commit="",goversion="",version="v1.2.3"} 1`) ||
		!strings.Contains(body, `gitops_agent_guest_in_sync{kind="Container",vmid="210"} 1`) || !strings.Contains(body, "gitops_agent_trusted_root_info{") ||
		!strings.Contains(body, "gitops_agent_api_requests_total{") || strings.Contains(body, "gitops_agent_journal_records_total 0\n") {
		t.Errorf("got status %d and metrics\n%s\nwant those of build, guest, root, requests and journal", code, body)
	}
	for _, path := range []string{"/", "/healthz", "/readyz"} {
		if code, body := h.get(a, path); code != http.StatusOK {
			t.Errorf("%s: got %d %q, want 200", path, code, body)
		}
	}

	second := h.push("the same again")
	hook, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.Address()+"/webhook", http.NoBody)
	h.ok(err)
	hook.Header.Set("Authorization", "Bearer a secret")
	reply, err := http.DefaultClient.Do(hook)
	h.ok(err)
	h.ok(reply.Body.Close())
	h.until(a, "the commit that the webhook hinted at", func(d report.Document) bool { return d.Converged && d.Source.Accepted.Commit == second })

	stop()
	if err := <-ended; err != nil {
		t.Errorf("got %v, want a clean end", err)
	}
	h.ok(a.Close())
	if _, err := net.Dial("tcp", a.Address()); err == nil {
		t.Error("got a connection, want a closed port")
	}
}

func TestSecondAgentIsRefused(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	first, err := h.open()
	h.ok(err)
	if second, err := h.open(); second != nil || !errors.Is(err, journal.ErrLocked) {
		t.Errorf("got %v, want journal.ErrLocked", err)
	}
	h.ok(first.Close())
	again, err := h.open()
	h.ok(err)
	h.ok(again.Close())
}

// If a part fails to open, New closes the parts that it opened before.
func TestNewGivesBackWhatItOpened(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	h.ok(err)
	address, good := taken.Addr().String(), h.config.Listen
	h.config.Listen = &address
	if _, err := h.open(); err == nil || !strings.Contains(err.Error(), "listen for the status page") {
		t.Fatalf("got %v, want the port to be taken", err)
	}
	h.ok(taken.Close())
	h.config.Listen = good
	a, err := h.open()
	h.ok(err)
	h.ok(a.Close())
}

// TestNewChecksTheConfig: an agent does not start with a config that config check and a reload refuse, and leaves nothing behind.
func TestNewChecksTheConfig(t *testing.T) {
	t.Parallel()
	for field, damage := range map[string]func(h *home){
		"source.webhook_token_file": func(h *home) { h.config.Source.WebhookTokenFile += "-missing" },
		"secrets_dir":               func(h *home) { h.config.SecretsDir = h.config.StateDir + "-missing" },
		"trust.anchor":              func(h *home) { h.config.Trust.Anchor = strings.Repeat("0", 40) },
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			damage(h)
			a, err := h.open()
			if err == nil {
				h.ok(a.Close())
			}
			if err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("got %v, want an error about %s", err, field)
			}
			if _, err := os.Stat(h.config.StateDir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("got %v for the state directory, want none", err)
			}
		})
	}
}

// With a config without signers, New opens and locks nothing.
func TestNewNeedsTrust(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.config.Trust.Signers = nil
	if _, err := h.open(); err == nil || !strings.Contains(err.Error(), "at least one signer is required") {
		t.Errorf("got %v, want it to ask for a signer", err)
	}
	if _, err := os.Stat(h.config.StateDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want no state directory", err)
	}
}

func TestOnceWithoutStatusPage(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	commit := h.push("a container")
	nowhere := ""
	h.config.Listen = &nowhere
	a, err := h.open()
	h.ok(err)
	defer func() { h.ok(a.Close()) }()
	if a.Address() != "" {
		t.Errorf("got address %q, want none", a.Address())
	}
	report, err := a.Once(t.Context())
	if err != nil || !report.Converged || report.Source.Accepted.Commit != commit {
		t.Errorf("got %v and converged %t, want %s converged", err, report.Converged, commit)
	}
}
