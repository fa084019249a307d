//go:build integration

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"gitops-agent/internal/fulldisk"
)

// TestReadOnlyFileSystemStopsWritesNotReads starts the agent on a state directory whose file system has become read-only: the agent starts,
// keeps the accepted revision in force, observes, plans and serves its status, reports why it does not write, and writes nothing.
func TestReadOnlyFileSystemStopsWritesNotReads(t *testing.T) {
	s := newSite(t, buildBinaries(t))
	state := s.path("state")
	s.ok(os.Mkdir(state, 0o700))
	s.ok(syscall.Mount("tmpfs", state, "tmpfs", 0, "size=16m"))
	t.Cleanup(func() { _ = syscall.Unmount(state, syscall.MNT_DETACH) })
	s.repo.Files["cluster.yaml"] = clusterManifest
	s.repo.Files["web.yaml"] = blankVM("web-1", 201, "  memory: {size: 1Gi}\n")
	first := s.repo.Push(s.sig, killer, "first")
	s.run()
	s.converged()
	s.signal(syscall.SIGTERM)
	s.ok(s.agent.Wait())
	s.ok(syscall.Mount("", state, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	s.post("/reset", nil)
	s.post("/edit", map[string]any{"vmid": 201, "key": "memory", "value": "8192"})
	s.run()
	s.until("the drift to be seen", func() bool {
		d, ok := s.tryDocument()
		return ok && len(d.Guests) == 1 && len(d.Guests[0].Changes) == 1 && d.Guests[0].Changes[0].From == "8192" && d.Cycle > 5
	})
	doc := s.document()
	if doc.Writes.Allowed || doc.Writes.Reason != "journal" || !strings.Contains(doc.Writes.Message, "read-only file system") {
		t.Errorf("got writes %+v, want stopped because of the read-only file system", doc.Writes)
	}
	if a := doc.Source.Accepted; a == nil || a.Commit != first {
		t.Errorf("got revision %+v in force, want %s", a, first)
	}
	if got := s.effects(201, "config-written"); got != 0 {
		t.Errorf("got %d writes to the cluster, want none", got)
	}
}

// TestDiskThatBecomesReadOnlyIsTold lets the kernel make the file system of a running agent's state directory read-only, while the agent has nothing to record: the probe, the
// status and the reason to write nothing say it at once.
func TestDiskThatBecomesReadOnlyIsTold(t *testing.T) {
	s := newSite(t, buildBinaries(t))
	s.ok(os.Mkdir(s.path("state"), 0o700))
	disk, err := fulldisk.NewDisk(s.path("disk"), s.path("state"), 16<<20)
	s.ok(err)
	t.Cleanup(func() { _ = disk.Close() })
	s.repo.Files["cluster.yaml"] = clusterManifest
	s.repo.Files["web.yaml"] = blankVM("web-1", 201, "  memory: {size: 1Gi}\n")
	first := s.repo.Push(s.sig, killer, "first")
	s.run()
	s.converged()
	s.ok(disk.Break())
	s.until("the disk to be told", func() bool {
		d, ok := s.tryDocument()
		return ok && d.Writes.Reason == "journal" && d.Journal.Reason == "read-only"
	})
	doc := s.document()
	if doc.Writes.Allowed || doc.Journal.Healthy || !strings.Contains(doc.Journal.Error, "read-only file system") || doc.Source.Accepted == nil || doc.Source.Accepted.Commit != first {
		t.Errorf("got writes %+v, journal %+v and revision %+v, want nothing written because of the disk, and %s in force", doc.Writes, doc.Journal, doc.Source.Accepted, first)
	}
}
