package clustertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// testLifecycle creates, changes, starts, stops and destroys a virtual machine.
func testLifecycle(t *testing.T, s *suite) {
	began := time.Now().Add(-time.Minute) // the cluster's clock may be behind
	m := s.newVM(t, nil)
	m.wantTaken(t, true)
	m.wantStatus(t, guest.StatusStopped)
	eventually(t, "the guest in the inventory", func() bool {
		row, listed := m.inventoryRow(t)
		return listed && row.Node == m.node && row.Kind == m.kind
	})

	before := m.observe(t)
	if before.Keys["name"].Text != "clustertest" || before.Keys["memory"].Text != "64" || before.Digest == "" {
		t.Errorf("got %v with digest %q, want the guest as created", before.Keys, before.Digest)
	}

	change := m.call(cluster.OpConfig, map[string]string{"description": "first line\nsecond line", "onboot": "0", "tags": "b;a"})
	change.Digest, change.Delete = before.Digest, []string{"memory"}
	m.run(t, change)
	after := m.observe(t)
	if got := after.Keys["description"].Text; got != "first line\nsecond line" {
		t.Errorf("got description %q, want both lines", got)
	}
	if got := after.Keys["onboot"]; got.Text != "0" || !got.Set {
		t.Errorf("got onboot %v, want 0 although it is the default", got)
	}
	if _, set := after.Keys["memory"]; set || after.Digest == before.Digest {
		t.Errorf("got memory set: %v, digest %q, want no memory and another digest", set, after.Digest)
	}

	m.do(t, cluster.OpStart, nil)
	m.wantStatus(t, guest.StatusRunning)
	m.wantFailure(t, "start again", m.call(cluster.OpStart, nil), cluster.ErrConflict)
	m.wantFailure(t, "destroy while it runs", m.call(cluster.OpDestroy, nil), cluster.ErrConflict)
	m.do(t, cluster.OpStop, nil)
	m.wantStatus(t, guest.StatusStopped)

	m.do(t, cluster.OpDestroy, map[string]string{"purge": "1"})
	m.wantTaken(t, false)
	m.wantTasks(t, began, "qmcreate", "qmdestroy")
}

// wantTasks requires the node to list tasks of the guest of each type that succeeded.
func (m *testGuest) wantTasks(t *testing.T, began time.Time, types ...string) {
	t.Helper()
	tasks, err := m.Cluster.Tasks(t.Context(), cluster.TaskQuery{Node: m.node, VMID: m.vmid, Types: types, Since: began})
	if err != nil {
		t.Fatal(err)
	}
	var succeeded []string
	for _, task := range tasks {
		if task.VMID == m.vmid && task.OK() {
			succeeded = append(succeeded, task.Type)
		}
	}
	slices.Sort(succeeded)
	for _, kind := range types {
		if !slices.Contains(succeeded, kind) {
			t.Errorf("got tasks %v that succeeded, want %s among them", succeeded, kind)
		}
	}
}

// testISO creates a virtual machine without a disk, which boots from an image.
func testISO(t *testing.T, s *suite) {
	if s.ISO == "" {
		s.lacks(t, "ISO image")
	}
	m := &testGuest{suite: s, kind: guest.VirtualMachine, vmid: s.vmid(t), node: s.Nodes[0]}
	m.create(t, m.call(cluster.OpCreate, map[string]string{"name": "clustertest", "memory": "64", "ide2": s.ISO + ",media=cdrom", "boot": "order=ide2"}))
	if got := m.key(t, "ide2"); !strings.HasPrefix(got, s.ISO+",") || !strings.Contains(got, "media=cdrom") {
		t.Errorf("got ide2 %q, want the image", got)
	}
	m.set(t, map[string]string{"ide2": "none,media=cdrom"})
	if got := m.key(t, "ide2"); got != "none,media=cdrom" {
		t.Errorf("got ide2 %q, want an empty drive", got)
	}
}
