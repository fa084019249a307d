//go:build integration

package main

import (
	"os"
	"strings"
	"testing"

	"gitops-agent/reconcile/report"
)

// TestUsesVMList runs the real binary on the file that a simulator in another process keeps. A sweep takes place only once an hour.
func TestUsesVMList(t *testing.T) {
	file := t.TempDir() + "/.vmlist"
	s := newSite(t, buildBinaries(t), "--vmlist", file)
	config := strings.Replace(s.read("config.yaml"), "resync: 600ms", "resync: 1h\n  vmlist_check: 2h\n  vmlist_file: "+file, 1)
	s.ok(os.WriteFile(s.path("config.yaml"), []byte(config), 0o600))
	s.repo.Files["cluster.yaml"] = clusterManifest
	s.repo.Files["web.yaml"] = blankVM("web-1", 201, "  description: serves the web\n")
	s.repo.Files["db.yaml"] = blankVM("db-1", 202, "")
	s.repo.Push(s.sig, killer, "two guests")
	s.run()
	s.converged()
	used := func(d report.Document) bool {
		return d.Proxmox.VMList != nil && d.Proxmox.VMList.Error == "" && d.Proxmox.VMList.Skipped == 2
	}
	s.until("the sweep to skip both guests", func() bool { return used(s.document()) })

	s.until("ten looks at the inventory without a full read", func() bool { // the inventory reports new guests for a while
		s.post("/reset", nil)
		var counters struct {
			Writes int
			Routes map[string]int
		}
		s.until("ten looks", func() bool { s.get("/counters", &counters); return counters.Routes["GET /cluster/resources"] >= 10 })
		return counters.Routes["GET /nodes/{node}/qemu/{vmid}/pending"] == 0 && counters.Writes == 0
	})
	s.post("/edit", map[string]any{"vmid": 201, "key": "description", "value": "by hand"})
	s.until("the repair", func() bool { return s.effects(201, "config-written") > 0 })
	s.converged()

	whole, err := os.ReadFile(file)
	s.ok(err)
	s.ok(os.WriteFile(file, whole[:len(whole)/2], 0o600))
	s.until("the file not to be used", func() bool {
		list := s.document().Proxmox.VMList
		return list != nil && strings.Contains(list.Error, "parse list of guests")
	})
	s.post("/edit", map[string]any{"vmid": 202, "key": "onboot", "value": "1"}) // the simulator writes the file again
	s.until("the file to be used again", func() bool { return s.document().Proxmox.VMList.Error == "" })
	if log := s.read("log"); !strings.Contains(log, "vmlist file not used") || !strings.Contains(log, "vmlist file used again") {
		t.Errorf("got a log without the trouble and its end:\n%s", log)
	}
}
