//go:build integration

package main

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"gitops-agent/internal/fulldisk"
	"gitops-agent/reconcile/report"
)

// TestFullDiskStopsWritesNotReads fills the disk under the journal: the agent stops writing to the cluster, continues to observe it
// and reports why.
func TestFullDiskStopsWritesNotReads(t *testing.T) {
	s := newSite(t, buildBinaries(t))
	state := s.path("state")
	s.ok(os.Mkdir(state, 0o700))
	s.ok(syscall.Mount("tmpfs", state, "tmpfs", 0, "size=1m"))
	t.Cleanup(func() { _ = syscall.Unmount(state, syscall.MNT_DETACH) })
	s.repo.Files["cluster.yaml"] = clusterManifest
	s.repo.Files["web.yaml"] = blankVM("web-1", 201, "  memory: {size: 1Gi}\n")
	s.repo.Push(s.sig, killer, "first")
	s.run()
	s.converged()
	s.ok(fulldisk.FillFileSystem(state))
	for i := 0; s.document().Writes.Reason != "journal"; i++ {
		s.post("/edit", map[string]any{"vmid": 201, "key": "memory", "value": fmt.Sprint(2048 + i)})
		cycle := s.document().Cycle
		s.until("a cycle", func() bool { return s.document().Cycle > cycle+1 })
		if i > 200 {
			t.Fatal("got 200 repairs on a full disk, want the journal to refuse")
		}
	}
	doc := s.document()
	if doc.Journal.Healthy || doc.Writes.Allowed {
		t.Errorf("got journal healthy %t and writes allowed %t, want neither", doc.Journal.Healthy, doc.Writes.Allowed)
	}
	s.post("/reset", nil)
	s.post("/edit", map[string]any{"vmid": 201, "key": "memory", "value": "8192"})
	s.until("the drift to be seen", func() bool {
		d := s.document()
		return d.Cycle > doc.Cycle+5 && len(d.Guests) == 1 && len(d.Guests[0].Changes) == 1 && d.Guests[0].Changes[0].From == "8192"
	})
	if got := s.effects(201, "config-written"); got != 0 {
		t.Errorf("got %d writes to the cluster without a journal, want none", got)
	}
}

// document returns the status of the agent.
func (s *site) document() report.Document {
	s.Helper()
	var doc report.Document
	s.until("the status", func() bool {
		var ok bool
		doc, ok = s.tryDocument()
		return ok
	})
	return doc
}
