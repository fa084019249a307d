package pvesim

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGuardReportsUnannouncedLoss(t *testing.T) {
	const (
		disk = "local-lvm:vm-100-disk-0"
		old  = "local:100/vm-100-disk-7.raw" // not named by any config
	)
	destroy := func(c *client) { c.task("DELETE", vm100) }
	tests := map[string]struct {
		announce func(*Sim)
		act      func(*client)
		want     []string // prefixes of the violations
	}{
		"destroy":              {nil, destroy, []string{"guest 100 destroyed, which was not announced"}},
		"destroy_announced":    {func(s *Sim) { s.AnnounceDestroy(100, "mine") }, destroy, nil},
		"destroy_any_marker":   {func(s *Sim) { s.AnnounceDestroy(100, "") }, destroy, nil},
		"destroy_other_marker": {func(s *Sim) { s.AnnounceDestroy(100, "yours") }, destroy, []string{`guest 100 destroyed with the tags ["mine"], announced with yours`}},
		"destroy_other_guest":  {func(s *Sim) { s.AnnounceDestroy(101, "mine") }, destroy, []string{"guest 100 destroyed, which was not announced"}},
		"destroy_twice": {func(s *Sim) { s.AnnounceDestroy(100, "mine") }, func(c *client) {
			destroy(c)
			addVM(c.t, c.sim, 100, "tags: mine\n")
			destroy(c)
		}, []string{"guest 100 destroyed, which was not announced"}},
		"destroy_sweeps": {func(s *Sim) { s.AnnounceDestroy(100, "mine") }, func(c *client) {
			c.task("DELETE", vm100, "destroy-unreferenced-disks=1")
		}, []string{"volume " + old + " freed by destroy-unreferenced-disks of 100, which was not announced"}},
		"detach":           {nil, func(c *client) { c.ok("PUT", vm100+"/config", "delete=scsi0") }, nil},
		"detach_with_data": {nil, func(c *client) { c.ok("PUT", vm100+"/config", "delete=scsi0", "force=1") }, []string{"volume " + disk + " freed by forced delete of scsi0"}},
		"delete_unused": {nil, func(c *client) {
			c.ok("PUT", vm100+"/config", "delete=scsi0")
			c.ok("PUT", vm100+"/config", "delete=unused0")
		}, []string{"volume " + disk + " freed by delete of unused0"}},
		"delete_announced": {func(s *Sim) { s.AnnounceFree(disk) }, func(c *client) { c.ok("PUT", vm100+"/config", "delete=scsi0", "force=1") }, nil},
		"move": {
			nil, func(c *client) { c.task("POST", vm100+"/move_disk", "disk=scsi0", "storage=local", "delete=1") },
			[]string{"volume " + disk + " freed by move with delete"},
		},
		"content":    {nil, func(c *client) { c.task("DELETE", "/nodes/pve1/storage/local/content/"+old) }, []string{"volume " + old + " freed by delete volume"}},
		"cloud_init": {nil, func(c *client) { c.ok("PUT", vm100+"/config", "delete=ide2") }, nil},
		"failed_create": {nil, func(c *client) {
			c.task("POST", "/nodes/pve1/qemu", "vmid=101", "scsi0=local:1", "scsi1=local:101/vm-101-disk-9.raw")
		}, nil},
		"by_hand": {nil, func(c *client) { _ = c.sim.RemoveGuest(100) }, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "tags: mine\nscsi0: local-lvm:1\nide2: local-lvm:cloudinit\n")
				if err := c.sim.AddVolume(old, gib); err != nil {
					t.Fatal(err)
				}
				c.sim.Guard()
				if tt.announce != nil {
					tt.announce(c.sim)
				}
				tt.act(c)
				got := c.sim.Violations()
				if len(got) != len(tt.want) || !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
					t.Errorf("violations: got %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// TestBrokenInvariants breaks the simulator's invariants directly, since no call can.
func TestBrokenInvariants(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "scsi0: local-lvm:1\n")
		_ = c.sim.locked(func() error {
			task := &task{sim: c.sim, name: "second"}
			c.sim.writers[100] = "first"
			_ = task.registerWriter(100, false)
			delete(c.sim.writers, 100)
			c.sim.free("local-lvm:vm-100-disk-0", "")
			c.sim.noQuorum = true
			c.sim.countEffect(100, ConfigWritten)
			c.sim.countEffect(100, Stopped)
			return nil
		})
		want := []string{
			"guest 100 has two writers: first and second", "volume local-lvm:vm-100-disk-0 freed without a destroy or a delete",
			"guest 100 config-written without quorum",
		}
		if got := c.sim.Violations(); !slices.Equal(got, want) {
			t.Errorf("violations: got %q, want %q", got, want)
		}
	})
}

func TestWritesAreCounted(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		c.ok("GET", vm100+"/config")
		if n := c.sim.Writes(); n != 0 {
			t.Errorf("after a read: got %d writes, want 0", n)
		}
		c.ok("PUT", vm100+"/config", "cores=2")
		c.call("DELETE", "/nodes/pve1/qemu/999")
		if n := c.sim.Writes(); n != 2 {
			t.Errorf("after a write and a rejected write: got %d, want 2", n)
		}
		c.sim.ResetCounters()
		if n := c.sim.Writes(); n != 0 {
			t.Errorf("reset: got %d writes, want 0", n)
		}
	})
}

// TestObjectsAreCounted counts the effects on an object under its own path, whichever parameters a call has.
func TestObjectsAreCounted(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		const aliases = "/cluster/firewall/aliases"
		c.ok("POST", aliases, "name=office", "cidr=10.1.0.0/24")
		c.ok("PUT", aliases+"/office", "cidr=10.2.0.0/24", "name=office")
		c.call("POST", aliases, "name=office", "cidr=10.1.0.0/24") // is refused
		c.ok("POST", "/cluster/firewall/ipset", "name=admins")
		c.ok("POST", "/cluster/firewall/ipset/admins", "cidr=10.1.0.9")
		want := map[string]map[string]int{
			aliases + "/office":                       {"POST": 1, "PUT": 1},
			"/cluster/firewall/ipset/admins":          {"POST": 1},
			"/cluster/firewall/ipset/admins/10.1.0.9": {"POST": 1},
		}
		if diff := cmp.Diff(want, c.sim.Counters().Objects); diff != "" {
			t.Errorf("effects (-want +got)\n%s", diff)
		}
	})
}
