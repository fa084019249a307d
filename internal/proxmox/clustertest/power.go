package clustertest

import (
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// testPending changes a key of a running guest that only a restart brings into effect.
func testPending(t *testing.T, s *suite) {
	m := s.newVM(t, nil)
	m.do(t, cluster.OpStart, nil)
	m.set(t, map[string]string{"memory": "128"})
	m.wantMemory(t, "64", "128")
	m.do(t, cluster.OpStop, nil)
	m.wantMemory(t, "128", "")
}

// wantMemory wants the guest's memory, in MiB, and what is pending of it, empty for nothing.
func (m *machine) wantMemory(t *testing.T, now, pending string) {
	t.Helper()
	got := m.observe(t).Keys["memory"]
	waiting := ""
	if got.Pending != nil {
		waiting = *got.Pending
	}
	if got.Text != now || waiting != pending {
		t.Errorf("got memory %q and %q pending, want %q and %q", got.Text, waiting, now, pending)
	}
}

// testShutdown asks a guest that does not listen to go: for a while in vain, then with force.
func testShutdown(t *testing.T, s *suite) {
	m := s.newVM(t, nil)
	m.do(t, cluster.OpStart, nil)
	m.deafen(t)

	task, err := m.try(t, m.call(cluster.OpShutdown, map[string]string{"timeout": "1"}))
	if task.OK() && m.Deafen == nil {
		s.lacks(t, deafGuest)
	}
	if err != nil || task.OK() || task.Err != nil || task.LogTail == "" {
		t.Errorf("got task %+v, error %v, want one that failed for a reason of its own, with the end of its log", task, err)
	}
	m.wantStatus(t, guest.StatusRunning)
	m.do(t, cluster.OpShutdown, map[string]string{"timeout": "1", "forceStop": "1"})
	m.wantStatus(t, guest.StatusStopped)
}

// deafGuest is what a cluster lacks whose guests heed a shutdown although they have no system: a simulated one, seen from outside.
const deafGuest = "guest that ignores a shutdown"

// deafen makes the guest ignore requests to shut down, where having no system does not do that.
func (m *machine) deafen(t *testing.T) {
	t.Helper()
	if m.Deafen == nil {
		return
	}
	if err := m.Deafen(m.vmid); err != nil {
		t.Fatal(err)
	}
}

// testReboot reboots a guest for what is pending. The task of a virtual machine ends when the guest is down; another one, which is
// not ours, starts it again. A guest that does not listen keeps running, and nothing is applied.
func testReboot(t *testing.T, s *suite) {
	began := time.Now().Add(-time.Minute)
	m := s.newVM(t, nil)
	m.do(t, cluster.OpStart, nil)
	m.set(t, map[string]string{"memory": "128"})
	task, err := m.try(t, m.call(cluster.OpReboot, map[string]string{"timeout": "5"}))
	if err != nil {
		t.Fatal(err)
	}
	if !task.OK() {
		m.wantStatus(t, guest.StatusRunning)
		m.wantMemory(t, "64", "128")
		if m.Deafen != nil {
			t.Errorf("got task %+v, want a guest that listens to reboot", task)
		}
		return
	}
	eventually(t, "a start by the host", func() bool { return m.startedByHost(t, began) })
	eventually(t, "the guest running again", func() bool {
		status, err := m.Cluster.Status(t.Context(), m.row())
		return err == nil && status == guest.StatusRunning
	})
	m.wantMemory(t, "128", "")
}

func (m *machine) startedByHost(t *testing.T, began time.Time) bool {
	t.Helper()
	tasks, err := m.Cluster.Tasks(t.Context(), cluster.TaskQuery{Node: m.node, VMID: m.vmid, Types: []string{"qmstart"}, Since: began})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if task.User == "root@pam" && task.OK() {
			return true
		}
	}
	return false
}
