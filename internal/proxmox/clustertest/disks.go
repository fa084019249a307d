package clustertest

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
)

// testDisks adds, grows, detaches, attaches and deletes a disk. Only the last step deletes data.
func testDisks(t *testing.T, s *suite) {
	m := s.newVM(t, nil)
	m.set(t, map[string]string{"scsi1": s.Storage + ":1,discard=on"})
	if got := m.key(t, "scsi1"); !strings.HasPrefix(got, s.Storage+":") || !strings.Contains(got, "size=1G") || !strings.Contains(got, "discard=on") {
		t.Errorf("got disk %q, want 1 GiB on %s with discard", got, s.Storage)
	}

	grow := m.call(cluster.OpResize, map[string]string{"disk": "scsi1", "size": "2G"})
	grow.Digest = m.observe(t).Digest
	m.run(t, grow)
	if got := m.key(t, "scsi1"); !strings.Contains(got, "size=2G") {
		t.Errorf("got disk %q, want size=2G", got)
	}
	m.wantFailure(t, "resize with the old digest", grow, cluster.ErrConflict)
	if task, err := m.try(t, m.call(cluster.OpResize, map[string]string{"disk": "scsi1", "size": "1G"})); err == nil && task.OK() {
		t.Errorf("got task %+v, want Proxmox to reject a smaller size", task)
	}

	volume := volumeOf(m.key(t, "scsi1"))
	m.unset(t, "scsi1")
	if got := m.observe(t).Keys; volumeOf(got["unused0"].Text) != volume || got["scsi1"].Text != "" {
		t.Errorf("got scsi1 %q and unused0 %q, want the volume %s unused", got["scsi1"].Text, got["unused0"].Text, volume)
	}
	m.set(t, map[string]string{"scsi2": volume})
	if got := m.observe(t).Keys; volumeOf(got["scsi2"].Text) != volume || got["unused0"].Text != "" || !strings.Contains(got["scsi2"].Text, "size=2G") {
		t.Errorf("got scsi2 %q and unused0 %q, want the volume %s at scsi2", got["scsi2"].Text, got["unused0"].Text, volume)
	}
	m.unset(t, "scsi2")
	m.unset(t, "unused0")
	if got := m.key(t, "unused0"); got != "" {
		t.Errorf("got unused0 %q, want the volume gone", got)
	}
}

// volumeOf returns the volume id in the value of a disk.
func volumeOf(disk string) string {
	volume, _, _ := strings.Cut(disk, ",")
	return volume
}

// testDiskMove moves a disk of a stopped guest to another storage and keeps the old volume. Then it moves the disk of the running guest back and
// deletes the old volume.
func testDiskMove(t *testing.T, s *suite) {
	if s.OtherStorage == "" {
		s.lacks(t, "second storage")
	}
	m := s.newVM(t, nil)
	from := volumeOf(m.key(t, "scsi0"))
	move := m.call(cluster.OpMove, map[string]string{"disk": "scsi0", "storage": s.OtherStorage, "delete": "0"})
	move.Digest = strings.Repeat("0", 40)
	m.wantFailure(t, "move with another digest", move, cluster.ErrConflict)
	move.Digest = m.observe(t).Digest
	m.run(t, move)
	if got := m.observe(t).Keys; !strings.HasPrefix(got["scsi0"].Text, s.OtherStorage+":") || volumeOf(got["unused0"].Text) != from {
		t.Errorf("got scsi0 %q and unused0 %q, want the disk on %s and %s unused", got["scsi0"].Text, got["unused0"].Text, s.OtherStorage, from)
	}

	m.unset(t, "unused0")
	m.do(t, cluster.OpStart, nil)
	m.do(t, cluster.OpMove, map[string]string{"disk": "scsi0", "storage": s.Storage, "delete": "1"})
	if got := m.observe(t).Keys; !strings.HasPrefix(got["scsi0"].Text, s.Storage+":") || got["unused0"].Text != "" {
		t.Errorf("got scsi0 %q and unused0 %q, want the disk on %s and no unused volume", got["scsi0"].Text, got["unused0"].Text, s.Storage)
	}
}
