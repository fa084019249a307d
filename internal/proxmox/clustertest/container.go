package clustertest

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// testContainer creates, changes and clones a container, and converts it to a template.
func testContainer(t *testing.T, s *suite) {
	m := s.newCT(t, map[string]string{"net0": "name=eth0,bridge=" + s.Bridge})
	m.wantStatus(t, guest.StatusStopped)
	before := m.observe(t)
	if before.Keys["hostname"].Text != "clustertest" || before.Keys["memory"].Text != "128" || before.Digest == "" {
		t.Errorf("got %v with digest %q, want the guest as created", before.Keys, before.Digest)
	}

	change := m.call(cluster.OpConfig, map[string]string{"description": "a container", "swap": "0", "tags": "b;a"})
	change.Digest = before.Digest
	m.run(t, change)
	after := m.observe(t)
	if got := strings.TrimSpace(after.Keys["description"].Text); got != "a container" || after.Keys["swap"].Text != "0" {
		t.Errorf("got description %q and swap %q, want them as written", got, after.Keys["swap"].Text)
	}
	m.wantFailure(t, "config with the old digest", change, cluster.ErrConflict)

	address := hardwareAddress(after.Keys["net0"].Text)
	m.set(t, map[string]string{"net0": "name=eth0,bridge=" + s.Bridge + ",firewall=1,hwaddr=" + address})
	if got := m.key(t, "net0"); hardwareAddress(got) != address || len(address) != 17 || !strings.Contains(got, "firewall=1") {
		t.Errorf("got net0 %q, want the address %s and the firewall", got, address)
	}

	m.do(t, cluster.OpTemplate, nil) // Proxmox may answer without naming the task
	eventually(t, "the template", func() bool { return m.key(t, "template") == "1" })
	clone := m.clone(t, map[string]string{"hostname": "clustertest-full", "full": "1", "storage": s.Storage})
	if got := clone.observe(t); got.Keys["hostname"].Text != "clustertest-full" || got.Keys["template"].Text == "1" {
		t.Errorf("got %v, want an independent guest", got.Keys)
	}
	clone.do(t, cluster.OpDestroy, map[string]string{"purge": "1"})
	clone.wantTaken(t, false)
}

// hardwareAddress returns the MAC address of a container's network device.
func hardwareAddress(device string) string {
	_, rest, _ := strings.Cut(device, "hwaddr=")
	address, _, _ := strings.Cut(rest, ",")
	return address
}

// testContainerVolumes grows a root file system, and adds, moves and detaches a mount point.
func testContainerVolumes(t *testing.T, s *suite) {
	m := s.newCT(t, map[string]string{"mp0": s.Storage + ":1,mp=/data"})
	m.do(t, cluster.OpResize, map[string]string{"disk": "rootfs", "size": "3G"})
	if got := m.key(t, "rootfs"); !strings.Contains(got, "size=3G") {
		t.Errorf("got rootfs %q, want size=3G", got)
	}
	m.wantFailure(t, "resize to the present size", m.call(cluster.OpResize, map[string]string{"disk": "rootfs", "size": "3G"}), cluster.ErrConflict)

	m.set(t, map[string]string{"mp1": s.Storage + ":1,mp=/more"})
	if got := m.key(t, "mp1"); !strings.Contains(got, "mp=/more") || !strings.Contains(got, "size=1G") {
		t.Errorf("got mp1 %q, want 1 GiB at /more", got)
	}
	volume := volumeOf(m.key(t, "mp1"))
	m.unset(t, "mp1")
	if got := m.key(t, "unused0"); volumeOf(got) != volume {
		t.Errorf("got unused0 %q, want the volume %s", got, volume)
	}
	m.unset(t, "unused0")

	if s.OtherStorage == "" {
		s.lacks(t, "second storage")
	}
	from := volumeOf(m.key(t, "mp0"))
	move := m.call(cluster.OpMove, map[string]string{"disk": "mp0", "storage": s.OtherStorage, "delete": "0"})
	move.Digest = m.observe(t).Digest
	m.run(t, move)
	if got := m.observe(t).Keys; !strings.HasPrefix(got["mp0"].Text, s.OtherStorage+":") || volumeOf(got["unused0"].Text) != from {
		t.Errorf("got mp0 %q and unused0 %q, want the volume on %s and %s unused", got["mp0"].Text, got["unused0"].Text, s.OtherStorage, from)
	}
}

// testContainerPower starts, reboots, shuts down and stops a container.
func testContainerPower(t *testing.T, s *suite) {
	m := s.newCT(t, nil)
	m.wantFailure(t, "stop when stopped", m.call(cluster.OpStop, nil), cluster.ErrConflict)
	m.do(t, cluster.OpStart, nil)
	m.wantStatus(t, guest.StatusRunning)
	m.wantFailure(t, "start again", m.call(cluster.OpStart, nil), cluster.ErrConflict)
	m.wantFailure(t, "destroy while it runs", m.call(cluster.OpDestroy, nil), cluster.ErrConflict)

	m.set(t, map[string]string{"searchdomain": "lan.test"})
	if got := m.observe(t).Keys["searchdomain"]; got.Pending == nil || *got.Pending != "lan.test" {
		t.Errorf("got searchdomain %+v, want lan.test pending", got)
	}
	m.do(t, cluster.OpReboot, map[string]string{"timeout": "60"})
	eventually(t, "the container running again", func() bool {
		status, _, err := m.Cluster.Status(t.Context(), m.row())
		return err == nil && status == guest.StatusRunning
	})
	if got := m.observe(t).Keys["searchdomain"]; got.Text != "lan.test" || got.Pending != nil {
		t.Errorf("got searchdomain %+v, want lan.test and nothing pending", got)
	}
	m.do(t, cluster.OpShutdown, map[string]string{"timeout": "60", "forceStop": "1"})
	m.wantStatus(t, guest.StatusStopped)
}
