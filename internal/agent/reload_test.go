package agent_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gitops-agent/internal/agent"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile/report"
)

// read returns a function that reads a config.
func read(config agent.Config, err error) func() (agent.Config, error) {
	return func() (agent.Config, error) { return config, err }
}

// A reload brings a new signer into force without a restart, and nothing of a config that is not valid.
func TestReload(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	first := h.push("a container")
	log := &book{}
	a, err := agent.New(t.Context(), agent.Options{Config: h.config, Logger: slog.New(slog.NewTextHandler(log, nil)), ClaimWait: claimWait})
	h.ok(err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	converged := func(commit string) func(report.Document) bool {
		return func(d report.Document) bool { return d.Converged && d.Source.Accepted.Commit == commit }
	}
	h.until(a, "convergence", converged(first))

	bob := sigtest.Identity{Subject: "bob@example.org", Issuer: alice.Issuer}
	h.repo.Files["more.yaml"] = strings.NewReplacer("dns-1", "dns-2", "210", "211").Replace(dnsYAML)
	second := h.repo.Push(h.sig, bob, "another container")
	a.Hint()
	h.until(a, "the refusal of bob's commit", func(d report.Document) bool { return d.Source.Refused != nil && d.Source.Refused.Commit == second })

	if err := a.Reload(ctx, read(h.config, errors.New("line 1: not a config"))); err == nil {
		t.Error("a config that cannot be read: got a reload, want an error")
	}
	refused := map[string]func(c *agent.Config){
		"another state":    func(c *agent.Config) { c.StateDir = t.TempDir() },
		"no such token":    func(c *agent.Config) { c.Proxmox.TokenFile = filepath.Join(t.TempDir(), "absent") },
		"cannot be opened": func(c *agent.Config) { c.SecretsDir = t.TempDir() },
	}
	h.write(filepath.Join(h.config.StateDir, "secrets.key"), "too short") // found only when the parts are opened
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		config := h.config
		config.Trust.Signers = append(slices.Clone(config.Trust.Signers), agent.SignerConfig{Name: "bob", Issuer: bob.Issuer, Subject: bob.Subject, May: []string{"change"}})
		refused[name](&config)
		if err := a.Reload(ctx, read(config, nil)); err == nil {
			t.Errorf("%s: got a reload, want an error", name)
		}
	}
	if !strings.Contains(log.String(), "event=config.refused") {
		t.Error("got no event config.refused, want one")
	}
	a.Hint()
	h.until(a, "the first revision after refused reloads", func(d report.Document) bool {
		return d.Source.Accepted != nil && d.Source.Accepted.Commit == first && d.Source.Refused != nil && d.Source.Refused.Commit == second
	})

	config := h.config
	config.Trust.Signers = append(slices.Clone(config.Trust.Signers), agent.SignerConfig{Name: "bob", Issuer: bob.Issuer, Subject: bob.Subject, May: []string{"change"}})
	h.ok(a.Reload(ctx, read(config, nil)))
	h.until(a, "convergence on bob's commit", converged(second))
	if !strings.Contains(log.String(), "event=config.reloaded changed=trust.signers\n") {
		t.Errorf("got no event config.reloaded with the changed field alone, want one in\n%s", log)
	}
	for _, vmid := range []int{210, 211} {
		if got := h.sim.Effects(vmid, pvesim.Created); got != 1 {
			t.Errorf("guest %d: got %d creations, want 1", vmid, got)
		}
	}
	stop()
	h.ok(<-ended)
	h.ok(a.Close())
}
