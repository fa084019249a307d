package clustertest

import (
	"errors"
	"maps"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// testPool adds a guest to a pool, and then moves it to another pool.
func testPool(t *testing.T, s *suite) {
	if s.Pools[0] == "" || s.Pools[1] == "" {
		s.lacks(t, "two pools")
	}
	m := s.newVM(t, nil)
	for _, pool := range s.Pools {
		m.do(t, cluster.OpPool, map[string]string{"poolid": pool})
		eventually(t, "the guest in pool "+pool, func() bool {
			row, listed := m.inventoryRow(t)
			return listed && row.Pool == pool
		})
		m.wantFailure(t, "join the pool again", m.call(cluster.OpPool, map[string]string{"poolid": pool}), cluster.ErrConflict)
	}
}

// testHA adds a guest to the HA manager, which must not start the guest, and removes it again.
func testHA(t *testing.T, s *suite) {
	m := s.newVM(t, nil)
	_, err := m.try(t, m.call(cluster.OpHAAdd, map[string]string{"state": "stopped", "max_restart": "2"}))
	if errors.Is(err, cluster.ErrDenied) {
		s.lacks(t, "privilege for HA: "+err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	m.wantHA(t, guest.HA{State: "stopped", MaxRestart: 2, MaxRelocate: 1})
	m.wantFailure(t, "add again", m.call(cluster.OpHAAdd, nil), cluster.ErrConflict)
	m.do(t, cluster.OpHASet, map[string]string{"max_relocate": "3"})
	m.wantHA(t, guest.HA{State: "stopped", MaxRestart: 2, MaxRelocate: 3})
	switch _, err := m.try(t, m.call(cluster.OpHASet, map[string]string{"failback": "0"})); {
	case errors.Is(err, cluster.ErrInvalid): // Proxmox VE 8 has no such parameter
		m.wantHA(t, guest.HA{State: "stopped", MaxRestart: 2, MaxRelocate: 3})
	case err != nil:
		t.Fatal(err)
	default:
		m.wantHA(t, guest.HA{State: "stopped", MaxRestart: 2, MaxRelocate: 3, NoFailback: true})
	}
	m.do(t, cluster.OpHARemove, nil)
	if got, listed := m.haResource(t); listed {
		t.Errorf("got resource %+v, want none", got)
	}
	m.wantFailure(t, "remove again", m.call(cluster.OpHARemove, nil), cluster.ErrConflict)
	m.wantStatus(t, guest.StatusStopped)
}

// wantHA requires the HA manager to have the resource want for the guest.
func (m *testGuest) wantHA(t *testing.T, want guest.HA) {
	t.Helper()
	if got, _ := m.haResource(t); got != want {
		t.Errorf("got resource %+v, want %+v", got, want)
	}
}

// haResource returns the resource of the guest in the HA manager, and whether there is one.
func (m *testGuest) haResource(t *testing.T) (guest.HA, bool) {
	t.Helper()
	all, err := m.Cluster.HA(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, listed := all[m.vmid]
	return got, listed
}

// testMigrate migrates a stopped virtual machine to the other node, and migrates it back while it runs.
func testMigrate(t *testing.T, s *suite) {
	if len(s.Nodes) < 2 {
		s.lacks(t, "second node")
	}
	m := s.newVM(t, nil)
	m.migrate(t, s.Nodes[1], nil)
	m.wantStatus(t, guest.StatusStopped)
	old := m.call(cluster.OpConfig, map[string]string{"onboot": "1"})
	old.Node = s.Nodes[0]
	m.wantFailure(t, "config on the old node", old, cluster.ErrNotExist)
	m.do(t, cluster.OpStart, nil)
	m.migrate(t, s.Nodes[0], map[string]string{"online": "1", "with-local-disks": "1"})
	m.wantStatus(t, guest.StatusRunning)
}

// testMigrateContainer migrates a running container, which restarts.
func testMigrateContainer(t *testing.T, s *suite) {
	if len(s.Nodes) < 2 {
		s.lacks(t, "second node")
	}
	m := s.newCT(t, nil)
	m.do(t, cluster.OpStart, nil)
	m.migrate(t, s.Nodes[1], map[string]string{"restart": "1", "timeout": "60"})
	eventually(t, "the container running on the other node", func() bool {
		status, _, err := m.Cluster.Status(t.Context(), m.row())
		return err == nil && status == guest.StatusRunning
	})
}

// migrate migrates the guest, and requires it to be on the target node and not on the old node.
func (m *testGuest) migrate(t *testing.T, target string, params map[string]string) {
	t.Helper()
	call := m.call(cluster.OpMigrate, map[string]string{"target": target})
	maps.Copy(call.Params, params)
	m.run(t, call)
	_, err := m.Cluster.Observe(t.Context(), m.row())
	wantError(t, "observe on the old node", err, cluster.ErrNotExist)
	m.node = target
	if got := m.observe(t); got.Lock != "" {
		t.Errorf("got lock %q, want none", got.Lock)
	}
}
