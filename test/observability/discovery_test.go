//go:build integration

package observability

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/promtest"
	"gitops-agent/internal/status"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/report"
)

// serveGuests serves the discovery of three guests: two with one name, and one whose address is not known. What is stored in known decides whether the agent has a revision.
func serveGuests(t *testing.T, known *atomic.Bool) *httptest.Server {
	t.Helper()
	r := report.Report{Time: time.Now(), Cluster: "lab", Guests: []report.Guest{
		{GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "db", VMID: 201, Node: "pve-1"}, Sync: report.Synced, Status: guest.StatusRunning, Tags: []string{"db", "blue-green"}},
		{GuestName: report.GuestName{Kind: guest.Container, Name: "db", VMID: 301, Node: "pve-2"}, Sync: report.Synced, Status: guest.StatusStopped, Tags: []string{"db"}},
		{GuestName: report.GuestName{Kind: guest.VirtualMachine, Name: "web", VMID: 202, Node: "pve-1"}, Sync: report.Synced, Status: guest.StatusRunning},
	}}
	addresses := map[int][]netip.Addr{201: {netip.MustParseAddr("127.0.0.2")}, 301: {netip.MustParseAddr("::1")}}
	server := httptest.NewServer(status.Handler(status.Options{
		Report: func() report.Report {
			r := r
			if known.Load() {
				r.Source.Accepted = &report.Revision{Commit: strings.Repeat("a", 40)}
			}
			return r
		},
		Addresses: func() func(report.Guest) []netip.Addr {
			return func(g report.Guest) []netip.Addr { return addresses[g.VMID] }
		},
	}))
	t.Cleanup(server.Close)
	return server
}

// The real Prometheus finds the guests, and keeps them while the agent does not know them.
func TestPrometheusDiscoversGuests(t *testing.T) {
	t.Parallel()
	var known atomic.Bool
	known.Store(true)
	server := serveGuests(t, &known)
	var asked atomic.Int32
	handler := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
		asked.Add(1)
	})
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatalf("%v: apt-get install prometheus", err)
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), fmt.Appendf(nil, `
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: node
    http_sd_configs: [{url: "%s/targets.json?port=9", refresh_interval: 1s}]
    relabel_configs:
      - {source_labels: [__meta_gitops_name, __meta_gitops_kind], separator: /, target_label: guest}
      - {source_labels: [__meta_gitops_tags], regex: ".*,db,.*", target_label: role, replacement: database}
`, server.URL), 0o600))
	address := freeAddress(t)
	startProcess(t, filepath.Join(dir, "log"), exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--log.level=warn"))
	client := promtest.Client{URL: "http://" + address}
	found := func() map[string]string {
		var reply struct {
			ActiveTargets []struct{ Labels map[string]string }
		}
		if err := client.Get("/api/v1/targets", nil, &reply); err != nil {
			return nil // not started yet
		}
		targets := make(map[string]string)
		for _, target := range reply.ActiveTargets {
			targets[target.Labels["instance"]] = target.Labels["guest"] + " " + target.Labels["role"]
		}
		return targets
	}
	want := map[string]string{"127.0.0.2:9": "db/VirtualMachine database", "[::1]:9": "db/Container database"}
	await(t, "Prometheus to find the guests", func() bool { return maps.Equal(found(), want) })

	known.Store(false)
	asked.Store(0)
	await(t, "Prometheus to ask three times more", func() bool { return asked.Load() >= 3 })
	if diff := cmp.Diff(want, found()); diff != "" {
		t.Errorf("while the agent does not know the guests (-want +got):\n%s", diff)
	}
}

// The real Ansible reads the inventory without a warning, and reaches each guest by its own address.
func TestAnsibleReadsTheInventory(t *testing.T) {
	t.Parallel()
	var known atomic.Bool
	known.Store(true)
	server := serveGuests(t, &known)
	if _, err := exec.LookPath("ansible"); err != nil {
		t.Fatalf("%v: apt-get install ansible-core", err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "guests")
	must(t, os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nexec curl --fail --silent --show-error %s/inventory.json\n", server.URL), 0o700))
	ansible := func(args ...string) string {
		cmd := exec.Command(args[0], append(args[1:], "-i", script)...)
		cmd.Env = append(os.Environ(), "HOME="+dir, "ANSIBLE_NOCOLOR=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	var listed map[string]json.RawMessage
	must(t, json.Unmarshal([]byte(ansible("ansible-inventory", "--list")), &listed)) // a warning is no JSON
	groups := slices.Sorted(maps.Keys(listed))
	if diff := cmp.Diff([]string{"_meta", "all", "kind_container", "kind_virtualmachine", "node_pve_1", "node_pve_2", "status_running", "status_stopped", "tag_blue_green", "tag_db"}, groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	for pattern, want := range map[string]string{"tag_db:&kind_container": "db-ct at ::1 on pve-2", "db-vm": "db-vm at 127.0.0.2 on pve-1", "web": "web at web on pve-1"} {
		out := ansible("ansible", pattern, "-m", "debug", "-a", "msg='{{ inventory_hostname }} at {{ ansible_host | default(inventory_hostname) }} on {{ proxmox_node }}'")
		if !strings.Contains(out, `"msg": "`+want+`"`) || strings.Count(out, "msg") != 1 {
			t.Errorf("%s: got %s, want %s", pattern, out, want)
		}
	}
}
