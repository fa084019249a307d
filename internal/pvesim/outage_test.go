package pvesim

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLostQuorum(t *testing.T) {
	bubble(t, Options{Nodes: []string{"pve1", "pve2"}}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		c.sim.LoseQuorum()
		for what, got := range map[string]answer{
			"create": c.call("POST", "/nodes/pve1/qemu", "vmid=101"),
			"clone":  c.call("POST", vm100+"/clone", "newid=101"),
			"start":  c.call("POST", vm100+"/status/start"),
		} {
			checkReply(t, what, got, 500, "cluster not ready - no quorum?")
		}
		got := c.call("PUT", vm100+"/config", "cores=2")
		if got.status != 500 || !strings.Contains(got.reason, "Permission denied") {
			t.Errorf("write: got %d %s, want it refused", got.status, got.reason)
		}
		if body := c.ok("GET", "/cluster/status").body; !strings.Contains(body, `"quorate":0`) {
			t.Errorf("status: got %s, want it not quorate", body)
		}
		c.ok("GET", vm100+"/config")
		c.sim.RegainQuorum()
		c.ok("PUT", vm100+"/config", "cores=2")
	})
}

func TestWritesWithoutQuorum(t *testing.T) {
	const denied = "Permission denied"
	tests := map[string]struct {
		call string
		want string // part of the reason or exit status; "" means that it works
	}{
		"vm_config":  {"PUT " + vm100 + "/config cores=2", denied},
		"vm_async":   {"POST " + vm100 + "/config cores=2", denied},
		"ct_config":  {"PUT /nodes/pve1/lxc/200/config cores=2", denied},
		"resize":     {"PUT " + vm100 + "/resize disk=scsi0 size=+1G", denied},
		"move":       {"POST " + vm100 + "/move_disk disk=scsi0 storage=local", denied},
		"snapshot":   {"POST " + vm100 + "/snapshot snapname=s1", denied},
		"template":   {"POST /nodes/pve1/qemu/101/template", denied},
		"destroy":    {"DELETE /nodes/pve1/qemu/101", denied},
		"backup":     {"POST /nodes/pve1/vzdump vmid=100", denied},
		"cloud_init": {"PUT " + vm100 + "/cloudinit", denied},
		"migrate":    {"POST /nodes/pve1/qemu/101/migrate target=pve2", "no quorum?"},
		"ct_create":  {"POST /nodes/pve1/lxc vmid=300 ostemplate=local:vztmpl/x.tar.zst", "no quorum?"},
		"ct_start":   {"POST /nodes/pve1/lxc/200/status/start", "no quorum?"},
		"pool":       {"PUT /pools poolid=p comment=x", "cfs-lock 'file-user_cfg' error: no quorum!"},
		"new_pool":   {"POST /pools poolid=q", "cfs-lock 'file-user_cfg' error: no quorum!"},
		"ha":         {"POST /cluster/ha/resources sid=vm:100", "no quorum?"},
		"stop":       {"POST " + vm100 + "/status/stop", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{Nodes: []string{"pve1", "pve2"}}, func(t *testing.T, c *client) {
				addRunningVM(t, c.sim, 100, "cores: 1\nscsi0: local-lvm:1\n")
				addVM(t, c.sim, 101, "")
				if _, err := c.sim.AddCT(Guest{VMID: 200}); err != nil {
					t.Fatal(err)
				}
				c.sim.AddPool("p", "")
				c.ok("PUT", vm100+"/config", "sockets=2") // waits for the stop
				before := configTexts(c.sim)
				c.sim.LoseQuorum()
				f := strings.Fields(tt.call)
				got := c.call(f[0], f[1], f[2:]...)
				outcome := got.reason
				if got.status == 200 {
					outcome = c.waitAndSay(strings.Trim(string(got.data(t)), `"`))
				}
				if tt.want == "" && outcome != "OK" || !strings.Contains(outcome, tt.want) {
					t.Errorf("got %s, want %s", outcome, tt.want)
				}
				if diff := cmp.Diff(before, configTexts(c.sim)); diff != "" {
					t.Errorf("files (-before +after):\n%s", diff)
				}
				if v := c.sim.Violations(); len(v) > 0 {
					t.Errorf("violations: got %v, want none", v)
				}
			})
		})
	}
}

func TestQuorumLostWhileTasksRun(t *testing.T) {
	tests := map[string]struct{ call, left string }{
		"create":  {"POST /nodes/pve1/qemu vmid=101 scsi0=local-lvm:1", "create"},
		"clone":   {"POST " + vm100 + "/clone newid=101 full=1", "clone"},
		"restore": {"POST /nodes/pve1/qemu vmid=101 archive=local:backup/vzdump-qemu-100-2000_01_01-00_00_00.vma.zst", "create"},
		"ct":      {"POST /nodes/pve1/lxc/200/clone newid=101 full=1", "create"},
		"backup":  {"POST /nodes/pve1/vzdump vmid=100", ""},
		"migrate": {"POST " + vm100 + "/migrate target=pve2", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{Nodes: []string{"pve1", "pve2"}, TaskTime: time.Second}, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "scsi0: local-lvm:1\n")
				if _, err := c.sim.AddCT(Guest{VMID: 200}); err != nil {
					t.Fatal(err)
				}
				if got := c.task("POST", "/nodes/pve1/vzdump", "vmid=100"); got != "OK" {
					t.Fatalf("backup: got %s, want OK", got)
				}
				f := strings.Fields(tt.call)
				upid := strings.Trim(string(c.ok(f[0], f[1], f[2:]...).data(t)), `"`)
				time.Sleep(500 * time.Millisecond)
				before := configTexts(c.sim)
				c.sim.LoseQuorum()
				if got := c.waitAndSay(upid); !strings.Contains(got, "Permission denied") {
					t.Errorf("exit: got %s, want the write denied", got)
				}
				if diff := cmp.Diff(before, configTexts(c.sim)); diff != "" {
					t.Errorf("files (-before +after):\n%s", diff)
				}
				if got := c.sim.Value(101, "lock"); got != tt.left {
					t.Errorf("half-made guest: got lock %q, want %q", got, tt.left)
				}
				if v := c.sim.Violations(); len(v) > 0 {
					t.Errorf("violations: got %v, want none", v)
				}
			})
		})
	}
}

func TestStoppedNode(t *testing.T) {
	bubble(t, Options{Nodes: []string{"pve1", "pve2"}}, func(t *testing.T, c *client) {
		if _, err := c.sim.AddVM(Guest{VMID: 100, Node: "pve2"}); err != nil {
			t.Fatal(err)
		}
		c.sim.StopNode("pve2")
		got := c.call("GET", "/nodes/pve2/qemu/100/config")
		checkReply(t, "read", got, 595, "No route to host")
		if got.body != "" {
			t.Errorf("body: got %q, want none", got.body)
		}
		time.Sleep(7 * time.Second) // it counts as a member until then
		if body := c.ok("GET", "/cluster/resources").body; !strings.Contains(body, `"id":"qemu/100"`) || !strings.Contains(body, `"status":"offline"`) {
			t.Errorf("inventory: got %s, want the guest and a node that is offline", body)
		}
		c.sim.StartNode("pve2")
		c.ok("GET", "/nodes/pve2/qemu/100/config")
		checkReply(t, "wrong node", c.call("GET", vm100+"/config"), 500, "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist")
	})
}

func TestBackupAndRestore(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "name: keep\nscsi0: local-lvm:4\nnet0: virtio,bridge=vmbr0\n")
		before := c.sim.Digest(100)
		if got := c.task("POST", "/nodes/pve1/vzdump", "vmid=100", "storage=local", "notes-template={{guestname}}"); got != "OK" {
			t.Fatalf("backup: got %s, want OK", got)
		}
		if got := c.sim.Digest(100); got != before {
			t.Errorf("digest after a backup: got %s, want %s as before", got, before)
		}
		var archive string
		for _, v := range c.sim.Volumes() {
			if v.Kind == "backup" {
				archive = v.ID
			}
		}
		checkReply(t, "restore over it", c.call("POST", "/nodes/pve1/qemu", "vmid=100", "archive="+archive), 500,
			"unable to restore VM 100 - VM 100 already exists on node 'pve1'")
		if got := c.task("POST", "/nodes/pve1/qemu", "vmid=101", "archive="+archive, "unique=1"); got != "OK" {
			t.Fatalf("restore: got %s, want OK", got)
		}
		checkReply(t, "restore over its disks", c.call("POST", "/nodes/pve1/qemu", "vmid=102", "archive="+archive, "scsi0=local-lvm:1"), 400, "Parameter verification failed.")
		if got := c.task("POST", "/nodes/pve1/qemu", "vmid=102", "archive="+archive, "name=new", "tags=B;a"); got != "OK" {
			t.Fatalf("restore under another name: got %s, want OK", got)
		}
		if conf := c.config(102); conf["name"] != "new" || conf["tags"] != "a;b" || conf["scsi0"] != "local-lvm:vm-102-disk-0,size=4G" {
			t.Errorf("restored under another name: got %v, want what was given in place of what was saved", conf)
		}
		conf := c.config(101)
		if conf["name"] != "keep" || conf["scsi0"] != "local-lvm:vm-101-disk-0,size=4G" || conf["net0"] == c.sim.Value(100, "net0") || conf["lock"] != "" {
			t.Errorf("restored: got %v, want the config with its own volume and address", conf)
		}
	})
}

func TestKilledBackupLeavesTheLock(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		inject(t, c.sim, Fault{Kind: TaskKilled, Path: "/vzdump$"})
		if got := c.task("POST", "/nodes/pve1/vzdump", "vmid=100"); got != "unexpected status" {
			t.Errorf("killed backup: got %s, want unexpected status", got)
		}
		checkReply(t, "write afterwards", c.call("PUT", vm100+"/config", "cores=2"), 500, "VM is locked (backup)")
	})
}
