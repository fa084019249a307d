package agent_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/internal/agent"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/report"
)

// A guest depends on an https page with a certificate of a private authority. The guest is created once a reload has read the authority from checks.ca_file.
func TestChecksTrustPrivateAuthorities(t *testing.T) {
	t.Parallel()
	page := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	page.Config.ErrorLog = log.New(io.Discard, "", 0)
	page.StartTLS()
	t.Cleanup(page.Close)
	h := newHome(t)
	h.config.Checks = agent.ChecksConfig{Allow: []string{"127.0.0.1"}, CAFile: filepath.Join(t.TempDir(), "ca.pem")}
	other, err := pvesim.NewCertificate()
	h.ok(err)
	h.write(h.config.Checks.CAFile, string(other.PEM))
	h.repo.Files = map[string]string{
		"cluster.yaml": clusterYAML, "dns.yaml": dnsYAML + "  health: {http: \"" + page.URL + "\"}\n",
		"web.yaml": strings.NewReplacer("dns-1", "web-1", "210", "211").Replace(dnsYAML) + "  dependsOn: [Container/dns-1]\n",
	}
	h.repo.Push(h.sig, alice, "two containers")
	a, err := agent.New(t.Context(), agent.Options{Config: h.config, Logger: slog.New(slog.DiscardHandler), ClaimWait: claimWait})
	h.ok(err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	h.until(a, "the failed check", func(d report.Document) bool { return strings.Contains(fmt.Sprintf("%+v", d.Guests), "checks.ca_file") })

	h.write(h.config.Checks.CAFile, "no certificate")
	if err := a.Reload(ctx, read(h.config, nil)); err == nil || !strings.Contains(err.Error(), "checks.ca_file") {
		t.Errorf("got error %v, want that of checks.ca_file", err)
	}
	h.write(h.config.Checks.CAFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: page.Certificate().Raw})))
	h.ok(a.Reload(ctx, read(h.config, nil)))
	h.until(a, "convergence", func(d report.Document) bool { return d.Converged })
	if got := h.sim.Effects(211, pvesim.Created); got != 1 {
		t.Errorf("got %d creations of the guest that depends on the page, want 1", got)
	}
	stop()
	h.ok(<-ended)
	h.ok(a.Close())
}
