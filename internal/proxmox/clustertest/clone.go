package clustertest

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// testTemplate creates a template, and from it a full clone and a linked clone.
func testTemplate(t *testing.T, s *suite) {
	m := s.newVM(t, map[string]string{"net0": "virtio,bridge=" + s.Bridge, "tags": "golden"})
	m.do(t, cluster.OpTemplate, nil)
	if got := m.key(t, "template"); got != "1" {
		t.Fatalf("got template %q, want 1", got)
	}
	m.wantFailure(t, "convert again", m.call(cluster.OpTemplate, nil), cluster.ErrConflict)
	if task, err := m.try(t, m.call(cluster.OpStart, nil)); err == nil && task.OK() {
		t.Errorf("got task %+v, want the start of a template to be rejected", task)
	}

	full := m.clone(t, map[string]string{"name": "clustertest-full", "full": "1", "storage": s.Storage})
	seen := full.observe(t)
	if seen.Keys["name"].Text != "clustertest-full" || seen.Keys["template"].Text == "1" || seen.Keys["tags"].Text != "golden" || seen.Lock != "" {
		t.Errorf("got %v, want an independent guest with the template's tags", seen.Keys)
	}
	if mine, its := addressOf(seen.Keys["net0"].Text), addressOf(m.key(t, "net0")); mine == its {
		t.Errorf("got address %s in the clone, want an address different from the template's", mine)
	}
	full.do(t, cluster.OpStart, nil)
	full.wantStatus(t, guest.StatusRunning)

	t.Run("linked", func(t *testing.T) { m.testLinked(t) })
}

// testLinked creates a clone that uses the template's volumes, so that the template cannot be destroyed.
func (m *testGuest) testLinked(t *testing.T) {
	linked := &testGuest{suite: m.suite, kind: m.kind, vmid: m.suite.vmid(t), node: m.node}
	call := linked.call(cluster.OpCreate, map[string]string{"name": "clustertest-linked", "full": "0"})
	call.CloneOf = m.vmid
	t.Cleanup(func() { linked.remove(t) })
	task, err := linked.try(t, call)
	if err != nil && strings.Contains(err.Error(), "inked clone feature is not") {
		m.lacks(t, "linked clones on storage "+m.Storage)
	}
	if err != nil || !task.OK() {
		t.Fatalf("got task %+v, error %v, want a clone", task, err)
	}
	if got := linked.key(t, "scsi0"); !strings.Contains(got, "base-") {
		t.Errorf("got scsi0 %q, want a volume on the template's base", got)
	}
	if task, err := m.try(t, m.call(cluster.OpDestroy, nil)); err == nil && task.OK() {
		t.Errorf("got task %+v, want the destruction of a template in use to be rejected", task)
	}
	m.wantTaken(t, true)
}
