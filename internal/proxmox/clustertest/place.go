package clustertest

import (
	"errors"
	"maps"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// testPool puts a guest into a pool and from there into another one.
func testPool(t *testing.T, s *suite) {
	if s.Pools[0] == "" || s.Pools[1] == "" {
		s.lacks(t, "two pools")
	}
	m := s.newVM(t, nil)
	for _, pool := range s.Pools {
		m.do(t, cluster.OpPool, map[string]string{"poolid": pool})
		eventually(t, "the guest in pool "+pool, func() bool {
			row, listed := m.listed(t)
			return listed && row.Pool == pool
		})
		m.fails(t, "join the pool again", m.call(cluster.OpPool, map[string]string{"poolid": pool}), cluster.ErrConflict)
	}
}

// testHA makes a guest a resource of the HA manager, which must not start it, and takes it out again.
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
	m.fails(t, "add again", m.call(cluster.OpHAAdd, nil), cluster.ErrConflict)
	m.do(t, cluster.OpHASet, map[string]string{"max_relocate": "3"})
	m.wantHA(t, guest.HA{State: "stopped", MaxRestart: 2, MaxRelocate: 3})
	m.do(t, cluster.OpHARemove, nil)
	if got, listed := m.resource(t); listed {
		t.Errorf("got resource %+v, want none", got)
	}
	m.fails(t, "remove again", m.call(cluster.OpHARemove, nil), cluster.ErrConflict)
	m.wantStatus(t, guest.StatusStopped)
}

func (m *machine) wantHA(t *testing.T, want guest.HA) {
	t.Helper()
	if got, _ := m.resource(t); got != want {
		t.Errorf("got resource %+v, want %+v", got, want)
	}
}

// resource returns what the HA manager has of the guest.
func (m *machine) resource(t *testing.T) (guest.HA, bool) {
	t.Helper()
	all, err := m.Cluster.HA(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, listed := all[m.vmid]
	return got, listed
}

// testMigrate moves a virtual machine to the other node while it is stopped, and back while it runs.
func testMigrate(t *testing.T, s *suite) {
	if len(s.Nodes) < 2 {
		s.lacks(t, "second node")
	}
	m := s.newVM(t, nil)
	m.migrate(t, s.Nodes[1], nil)
	m.wantStatus(t, guest.StatusStopped)
	old := m.call(cluster.OpConfig, map[string]string{"onboot": "1"})
	old.Node = s.Nodes[0]
	m.fails(t, "config on the old node", old, cluster.ErrNotExist)
	m.do(t, cluster.OpStart, nil)
	m.migrate(t, s.Nodes[0], map[string]string{"online": "1", "with-local-disks": "1"})
	m.wantStatus(t, guest.StatusRunning)
}

// testMigrateContainer moves a running container, which restarts on its way.
func testMigrateContainer(t *testing.T, s *suite) {
	if len(s.Nodes) < 2 {
		s.lacks(t, "second node")
	}
	m := s.newCT(t, nil)
	m.do(t, cluster.OpStart, nil)
	m.migrate(t, s.Nodes[1], map[string]string{"restart": "1", "timeout": "60"})
	eventually(t, "the container running on the other node", func() bool {
		status, err := m.Cluster.Status(t.Context(), m.row())
		return err == nil && status == guest.StatusRunning
	})
}

// migrate moves the guest and wants it on its new node and no longer on the old one.
func (m *machine) migrate(t *testing.T, target string, params map[string]string) {
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
