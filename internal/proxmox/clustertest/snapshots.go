package clustertest

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// testSnapshot takes a snapshot of a stopped virtual machine, brings it back and deletes it.
func testSnapshot(t *testing.T, s *suite) {
	m := s.newVM(t, map[string]string{"tags": "before"})
	m.do(t, cluster.OpSnapshot, map[string]string{"snapname": "s1", "description": "made by a test"})
	m.set(t, map[string]string{"memory": "128", "tags": "after", "protection": "1"})
	m.cycleSnapshot(t)
	if got := m.observe(t).Keys["protection"]; got.Set {
		t.Errorf("got protection %q, want that of the snapshot", got.Text)
	}
	m.wantMemory(t, "64", "")
}

// testSnapshotOfContainer is the same test for a container.
func testSnapshotOfContainer(t *testing.T, s *suite) {
	m := s.newCT(t, map[string]string{"tags": "before"})
	task, err := m.try(t, m.call(cluster.OpSnapshot, map[string]string{"snapname": "s1", "description": "made by a test"}))
	if err != nil {
		t.Fatal(err)
	}
	if !task.OK() {
		s.lacks(t, "storage with snapshots of containers")
	}
	m.set(t, map[string]string{"tags": "after"})
	m.cycleSnapshot(t)
}

// cycleSnapshot requires a snapshot s1 with the tag before, a configuration with the tag after, and that rollback and deletion change what they should.
func (m *testGuest) cycleSnapshot(t *testing.T) {
	t.Helper()
	before := m.observe(t)
	listed := m.snapshots(t)
	section, found := listed.Section("s1")
	if !found || len(listed.Sections) != 1 || section.Taken().IsZero() || section.Unfinished() != "" || section.Keys["tags"] != "before" || strings.TrimSpace(section.Keys["description"]) != "made by a test" {
		t.Errorf("got %+v, want the snapshot s1", listed)
	}
	if listed.Digest != before.Digest {
		t.Errorf("got digest %s of the snapshots, want that of the configuration, %s", listed.Digest, before.Digest)
	}
	m.wantFailure(t, "take it twice", m.call(cluster.OpSnapshot, map[string]string{"snapname": "s1"}), nil)
	m.do(t, cluster.OpRollback, map[string]string{"snapname": "s1"})
	after := m.observe(t)
	if after.Keys["tags"].Text != "before" || after.Keys["parent"].Text != "s1" {
		t.Errorf("got %+v, want the snapshot", after.Keys)
	}
	if guest.SMBIOSUUID(after) != guest.SMBIOSUUID(before) {
		t.Errorf("got uuid %s, want %s as before", guest.SMBIOSUUID(after), guest.SMBIOSUUID(before))
	}
	m.do(t, cluster.OpDeleteSnapshot, map[string]string{"snapname": "s1"})
	if listed := m.snapshots(t); len(listed.Sections) != 0 {
		t.Errorf("got %+v, want none", listed)
	}
	m.wantFailure(t, "bring it back", m.call(cluster.OpRollback, map[string]string{"snapname": "s1"}), cluster.ErrInvalid)
	m.wantFailure(t, "delete it", m.call(cluster.OpDeleteSnapshot, map[string]string{"snapname": "s1"}), cluster.ErrInvalid)
}

func (m *testGuest) snapshots(t *testing.T) guest.Snapshots {
	t.Helper()
	got, err := m.Cluster.Snapshots(t.Context(), m.row())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// testBackup makes a backup of a virtual machine, and finds it by its notes.
func testBackup(t *testing.T, s *suite) {
	if s.Backups == "" {
		s.lacks(t, "storage of backups")
	}
	m := s.newVM(t, nil)
	const note = "clustertest 3f2a:0"
	m.do(t, cluster.OpBackup, map[string]string{"storage": s.Backups, "mode": "snapshot", "compress": "zstd", "remove": "0", "notes-template": note})
	made, err := m.Cluster.Backups(t.Context(), m.node, s.Backups, m.vmid)
	if err != nil || len(made) != 1 || made[0].Notes != note || made[0].Volume == "" {
		t.Errorf("got %+v, error %v, want one backup with its notes", made, err)
	}
	m.wantFailure(t, "an unknown storage", m.call(cluster.OpBackup, map[string]string{"storage": "no-such-storage"}), cluster.ErrInvalid)
}
