package clustertest

import (
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// testPending changes a key of a running guest that takes effect only after a restart.
func testPending(t *testing.T, s *suite) {
	m := s.newVM(t, nil)
	m.do(t, cluster.OpStart, nil)
	m.set(t, map[string]string{"memory": "128"})
	m.wantMemory(t, "64", "128")
	m.do(t, cluster.OpStop, nil)
	m.wantMemory(t, "128", "")
}

// wantMemory requires values of the key memory, in MiB: the present one and the pending one, empty for none.
func (m *testGuest) wantMemory(t *testing.T, now, pending string) {
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

// testShutdown shuts down a guest that ignores the request: first without effect within the timeout, then with forceStop.
func testShutdown(t *testing.T, s *suite) {
	m := s.newVM(t, nil)
	m.do(t, cluster.OpStart, nil)
	m.ignoreShutdown(t)

	task, err := m.try(t, m.call(cluster.OpShutdown, map[string]string{"timeout": "1"}))
	if task.OK() && m.IgnoreShutdown == nil {
		s.lacks(t, shutdownIgnored)
	}
	if err != nil || task.OK() || task.Err != nil || task.LogTail == "" {
		t.Errorf("got task %+v, error %v, want a failure that means no error of a Cluster, with the end of its log", task, err)
	}
	m.wantStatus(t, guest.StatusRunning)
	m.do(t, cluster.OpShutdown, map[string]string{"timeout": "1", "forceStop": "1"})
	m.wantStatus(t, guest.StatusStopped)
}

// shutdownIgnored names what a cluster lacks if its guests shut down on request without an operating system, as in a simulator in another process.
const shutdownIgnored = "guest that ignores a shutdown"

// ignoreShutdown makes the guest ignore requests to shut down, if the target has a function for it.
func (m *testGuest) ignoreShutdown(t *testing.T) {
	t.Helper()
	if m.IgnoreShutdown == nil {
		return
	}
	if err := m.IgnoreShutdown(m.vmid); err != nil {
		t.Fatal(err)
	}
}

// testReboot reboots a guest with pending changes. The reboot task of a virtual machine ends when the guest is down; another task, which the
// host starts, starts the guest again. A guest that ignores the request keeps running, and its changes stay pending.
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
		if m.IgnoreShutdown != nil {
			t.Errorf("got task %+v, want the reboot to succeed", task)
		}
		return
	}
	eventually(t, "a start by the host", func() bool { return m.startedByHost(t, began) })
	eventually(t, "the guest running again", func() bool {
		status, _, err := m.Cluster.Status(t.Context(), m.row())
		return err == nil && status == guest.StatusRunning
	})
	m.wantMemory(t, "128", "")
}

// startedByHost reports whether the host itself has started the guest since began.
func (m *testGuest) startedByHost(t *testing.T, began time.Time) bool {
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
