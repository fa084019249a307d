package run_test

import (
	"context"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/examples/manifests"
	"gitops-agent/internal/agent"
	"gitops-agent/internal/gittest"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

var alice = sigtest.Identity{Subject: "alice@lab.test", Issuer: "https://issuer.test"}

// host is a guest of a simulated cluster in which the agent runs.
type host struct {
	*testing.T
	sim    *pvesim.Sim
	sig    *sigtest.Sigstore
	repo   *gittest.Repo
	config agent.Config
}

// newHost makes a cluster with the images of examples/manifests/agent. The config is the one of the example, with the addresses and files of the test, and own in place
// of its self_vmid.
func newHost(t *testing.T, own int) *host {
	t.Helper()
	h := &host{T: t, sim: pvesim.New(pvesim.Options{TaskTime: 10 * time.Millisecond}), repo: gittest.New(t)}
	t.Cleanup(h.sim.Close)
	h.ok(h.sim.AddVolume("local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst", 120<<20))
	h.ok(h.sim.AddVolume("local:import/debian-12-genericcloud-amd64.qcow2", 2<<30))
	certificate, err := pvesim.NewCertificate()
	h.ok(err)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	h.ok(err)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- h.sim.Serve(ctx, listener, certificate.Config) }()
	t.Cleanup(func() { stop(); h.ok(<-served) })
	dir := t.TempDir()
	h.sig, err = sigtest.New(sigtest.Options{CAKey: sigtest.P256})
	h.ok(err)
	h.ok(h.sig.Save(dir))
	h.ok(os.WriteFile(filepath.Join(dir, "token"), []byte(h.sim.Token("root@pam!full")), 0o600))
	h.ok(os.WriteFile(filepath.Join(dir, "ca.pem"), certificate.PEM, 0o600))

	h.config, err = agent.ParseConfig([]byte(read(t, "proxmox/config.yaml")))
	h.ok(err)
	if h.config.Proxmox.SelfVMID == 0 {
		t.Fatal("got no self_vmid in the example")
	}
	none := ""
	h.config.Listen, h.config.StateDir = &none, filepath.Join(dir, "state")
	h.config.Source.Remotes = []agent.RemoteConfig{{URL: "file://" + h.repo.Dir}}
	h.config.Source.Poll = agent.Duration(100 * time.Millisecond)
	h.config.Trust = agent.TrustConfig{
		TrustedRootFile: filepath.Join(dir, sigtest.TrustedRootFile), Binding: "none", TrustOnFirstUse: true,
		Signers: []agent.SignerConfig{{Name: "alice", Issuer: alice.Issuer, Subject: alice.Subject, May: []string{"change"}}},
	}
	h.config.Proxmox = agent.ProxmoxConfig{
		Endpoints: []string{"https://" + listener.Addr().String()}, TokenFile: filepath.Join(dir, "token"), CAFile: filepath.Join(dir, "ca.pem"), SelfVMID: own,
		Tick: agent.Duration(100 * time.Millisecond), Resync: agent.Duration(200 * time.Millisecond),
	}
	return h
}

func (h *host) ok(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// push commits the manifests of the example with old replaced by another text.
func (h *host) push(message, old, replacement string) {
	h.Helper()
	tree, err := fs.Sub(manifests.Files, "agent")
	h.ok(err)
	names, err := fs.Glob(tree, "*.yaml")
	h.ok(err)
	for _, name := range names {
		text, err := fs.ReadFile(tree, name)
		h.ok(err)
		h.repo.Files[name] = strings.Replace(string(text), old, replacement, 1)
	}
	h.repo.Push(h.sig, alice, message)
}

// start runs the agent until the test ends.
func (h *host) start() *agent.Agent {
	h.Helper()
	a, err := agent.New(h.Context(), agent.Options{Config: h.config, Logger: slog.New(slog.DiscardHandler), ClaimWait: 30 * time.Millisecond})
	h.ok(err)
	ctx, stop := context.WithCancel(context.WithoutCancel(h.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	h.Cleanup(func() { stop(); h.ok(<-ended) })
	return a
}

// until waits until a report satisfies a condition.
func (h *host) until(a *agent.Agent, what string, holds func(report.Report) bool) {
	h.Helper()
	for deadline := time.Now().Add(90 * time.Second); !holds(a.Report()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.Fatalf("waited without success for %s, got %+v", what, a.Report())
		}
	}
}

// TestOwnGuestIsHeld runs the agent in the guests of examples/manifests/agent, each in its turn, with the config of proxmox/config.yaml. A commit stops both guests: the
// agent stops the other one, and holds the step on its own.
func TestOwnGuestIsHeld(t *testing.T) {
	for name, vmids := range map[string]struct{ own, other int }{"container": {510, 511}, "virtual_machine": {511, 510}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, vmids.own)
			running := h.start()
			h.push("the guests", "", "")
			h.until(running, "both guests run", func(report.Report) bool { return h.sim.Running(vmids.own) && h.sim.Running(vmids.other) })
			h.push("stopped", "state: running", "state: stopped")
			h.until(running, "the hold", func(r report.Report) bool {
				for _, g := range r.Guests {
					if g.VMID == vmids.own && len(g.Held) == 1 && g.Held[0].Reason == reason.OwnGuest {
						return !h.sim.Running(vmids.other)
					}
				}
				return false
			})
			if !h.sim.Running(vmids.own) {
				t.Error("the agent stopped the guest in which it runs")
			}
		})
	}
}
