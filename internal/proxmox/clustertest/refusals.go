package clustertest

import (
	"cmp"
	"strconv"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// testConflict writes with a digest that is old because of another edit.
func testConflict(t *testing.T, s *suite) {
	m := s.newVM(t, nil)
	read := m.observe(t)
	m.set(t, map[string]string{"description": "another edit"})

	stale := m.call(cluster.OpConfig, map[string]string{"description": "ours"})
	stale.Digest = read.Digest
	m.wantFailure(t, "config with an old digest", stale, cluster.ErrConflict)
	if got := m.key(t, "description"); got != "another edit" {
		t.Errorf("got description %q, want that of the other edit", got)
	}
	if _, err := m.try(t, m.call(cluster.OpCreate, nil)); err == nil {
		t.Error("got no error from creating a guest twice, want one")
	}
}

// testAbsent calls every method for a guest that does not exist.
func testAbsent(t *testing.T, s *suite) {
	m := &testGuest{suite: s, kind: guest.VirtualMachine, vmid: s.vmid(t), node: s.Nodes[0]}
	_, err := s.Cluster.Observe(t.Context(), m.row())
	wantError(t, "observe", err, cluster.ErrNotExist)
	_, _, err = s.Cluster.Status(t.Context(), m.row())
	wantError(t, "status", err, cluster.ErrNotExist)
	m.wantFailure(t, "config", m.call(cluster.OpConfig, map[string]string{"memory": "64"}), cluster.ErrNotExist)
	m.wantFailure(t, "destroy", m.call(cluster.OpDestroy, nil), cluster.ErrNotExist)
	m.wantFailure(t, "start", m.call(cluster.OpStart, nil), cluster.ErrNotExist) // the task fails
	m.wantTaken(t, false)
}

// testDenied uses a token that the cluster rejects, and a key that no token may set.
func testDenied(t *testing.T, s *suite) {
	m := &testGuest{suite: s, kind: guest.VirtualMachine, vmid: s.vmid(t), node: s.Nodes[0]}
	wantError(t, "ready", s.Denied.Ready(t.Context()), cluster.ErrDenied)
	_, err := s.Denied.Inventory(t.Context())
	wantError(t, "inventory", err, cluster.ErrDenied)
	_, err = s.Denied.Do(t.Context(), m.call(cluster.OpCreate, nil), nil)
	wantError(t, "create", err, cluster.ErrDenied)
	m.wantTaken(t, false)

	m = s.newVM(t, nil)
	m.wantFailure(t, "a key that no token may set", m.call(cluster.OpConfig, map[string]string{"args": "-nodefaults"}), cluster.ErrDenied)
}

// testLocked writes to a guest while a shutdown without effect holds the lock of the guest.
func testLocked(t *testing.T, s *suite) {
	m := s.newVM(t, nil)
	m.do(t, cluster.OpStart, nil)
	m.ignoreShutdown(t)
	holds := (2*s.LockTimeout + time.Second).Round(time.Second) // longer than a write waits for the lock
	upid, err := s.Cluster.Do(t.Context(), m.call(cluster.OpShutdown, map[string]string{"timeout": strconv.Itoa(int(holds.Seconds()))}), nil)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second / 2) // until the worker has the lock
	refused, refusal := m.try(t, m.call(cluster.OpConfig, map[string]string{"onboot": "1"}))
	shutdown, err := s.Cluster.Wait(t.Context(), upid)
	if shutdown.OK() && m.IgnoreShutdown == nil {
		s.lacks(t, shutdownIgnored)
	}
	if err != nil || shutdown.OK() {
		t.Errorf("got task %+v, error %v, want a shutdown without effect", shutdown, err)
	}
	wantError(t, "config", cmp.Or(refusal, refused.Err), cluster.ErrLocked)
	m.set(t, map[string]string{"onboot": "1"})
}

// testProtected requires Proxmox to keep a protected guest and its disks.
func testProtected(t *testing.T, s *suite) {
	m := s.newVM(t, map[string]string{"protection": "1"})
	disk := m.key(t, "scsi0")
	if _, err := m.try(t, m.call(cluster.OpDestroy, nil)); err == nil || !strings.Contains(err.Error(), "protection mode enabled") {
		t.Errorf("got error %v, want one about the protection", err)
	}
	detach := m.call(cluster.OpConfig, nil)
	detach.Delete = []string{"scsi0"}
	if task, err := m.try(t, detach); err == nil && task.OK() {
		t.Errorf("got task %+v, want the disk to be protected", task)
	}
	if got := m.key(t, "scsi0"); got != disk {
		t.Errorf("got scsi0 %q, want %q, unchanged", got, disk)
	}
}

// testWarnings starts a guest with a setting that Proxmox warns about. The task succeeds with warnings.
func testWarnings(t *testing.T, s *suite) {
	m := s.newVM(t, map[string]string{"scsihw": "virtio-scsi-pci", "scsi0": s.Storage + ":1,iothread=1"})
	task, err := m.try(t, m.call(cluster.OpStart, nil))
	if err != nil || task.Outcome != cluster.TaskWarned || task.Err != nil {
		t.Errorf("got task %+v, error %v, want a success with warnings", task, err)
	}
	if len(task.Warnings) == 0 || !strings.Contains(task.Warnings[0], "iothread is only valid") {
		t.Errorf("got warnings %q, want one about iothread", task.Warnings)
	}
	m.wantStatus(t, guest.StatusRunning)
}
