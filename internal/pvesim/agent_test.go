package pvesim

import (
	"strings"
	"testing"
	"time"
)

func TestGuestAgent(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "agent: enabled=1\nnet0: virtio=BC:24:11:00:00:01,bridge=vmbr0\nipconfig0: ip=10.0.0.5/24,gw=10.0.0.1\n")
		addRunningVM(t, c.sim, 101, "agent: 0\n")
		addVM(t, c.sim, 102, "agent: 1\n")
		if body := c.ok("POST", vm100+"/agent/ping").body; body != `{"data":{"result":{}}}` {
			t.Errorf("ping: got %s, want an empty result", body)
		}
		checkReply(t, "no agent", c.call("POST", "/nodes/pve1/qemu/101/agent/ping"), 500, "No QEMU guest agent configured")
		checkReply(t, "stopped", c.call("POST", "/nodes/pve1/qemu/102/agent/ping"), 500, "VM 102 is not running")
		checkReply(t, "wrong method", c.call("PUT", vm100+"/agent/ping"), 501, "Method 'PUT "+vm100+"/agent/ping' not implemented")
		body := c.ok("GET", vm100+"/agent/network-get-interfaces").body
		for _, want := range []string{
			`"name":"lo"`, `"hardware-address":"bc:24:11:00:00:01"`, `"ip-address":"10.0.0.5","prefix":24,"ip-address-type":"ipv4"`,
			`"ip-address":"fe80::be24:11ff:fe00:1","prefix":64,"ip-address-type":"ipv6"`,
		} {
			if !strings.Contains(body, want) {
				t.Errorf("interfaces: got %s, want %s", body, want)
			}
		}
		if err := c.sim.IgnoreShutdown(100); err != nil {
			t.Fatal(err)
		}
		checkReply(t, "still booting", c.call("POST", vm100+"/agent/ping"), 500, "QEMU guest agent is not running")
	})
}

func TestContainerInterfaces(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		const path = "/nodes/pve1/lxc/200/interfaces"
		if _, err := c.sim.AddCT(Guest{VMID: 200, Config: "net0: name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:02,ip=10.0.0.6/24\n"}); err != nil {
			t.Fatal(err)
		}
		if body := c.ok("GET", path).body; body != `{"data":null}` {
			t.Errorf("stopped: got %s, want null", body)
		}
		c.task("POST", "/nodes/pve1/lxc/200/status/start")
		body := c.ok("GET", path).body
		if !strings.Contains(body, `"hwaddr":"bc:24:11:00:00:02"`) || !strings.Contains(body, `"inet":"10.0.0.6/24"`) {
			t.Errorf("running: got %s, want the device with its address", body)
		}
	})
}

func TestContainerCannotBeSuspended(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		if _, err := c.sim.AddCT(Guest{VMID: 200, Running: true}); err != nil {
			t.Fatal(err)
		}
		want := "command 'lxc-checkpoint -n 200 -s -D /var/lib/vz/dump' failed: exit code 1"
		if got := c.task("POST", "/nodes/pve1/lxc/200/status/suspend"); got != want || !c.sim.Running(200) {
			t.Errorf("suspend: got %s running %v, want %s and running", got, c.sim.Running(200), want)
		}
	})
}

func TestMoveVolume(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		const ct = "/nodes/pve1/lxc/200"
		if _, err := c.sim.AddCT(Guest{VMID: 200, Config: "rootfs: local:4\nmp0: local:1,mp=/a\n"}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.sim.AddCT(Guest{VMID: 201, Config: "rootfs: local:1\n"}); err != nil {
			t.Fatal(err)
		}
		if got := c.task("POST", ct+"/move_volume", "volume=rootfs", "storage=local-lvm"); got != "OK" {
			t.Fatalf("move: got %s, want OK", got)
		}
		if root, unused := c.sim.Value(200, "rootfs"), c.sim.Value(200, "unused0"); root != "local-lvm:vm-200-disk-0,size=4G" || unused != "local:200/vm-200-disk-0.raw" {
			t.Errorf("moved: got %s and unused %s, want the new volume and the old one kept", root, unused)
		}
		if got := c.task("POST", ct+"/move_volume", "volume=mp0", "storage=local-lvm", "delete=1"); got != "OK" || c.sim.volume("local:200/vm-200-disk-1.raw") != nil {
			t.Errorf("move with delete: got %s, want OK and the source gone", got)
		}
		if got := c.task("POST", ct+"/move_volume", "volume=mp0", "target-vmid=201", "target-volume=mp3"); got != "OK" {
			t.Fatalf("hand over: got %s, want OK", got)
		}
		if got := c.sim.Value(201, "mp3"); got != "local-lvm:vm-201-disk-0,mp=/a,size=1G" || c.sim.Value(200, "mp0") != "" {
			t.Errorf("handed over: got %s, want the renamed volume with its new owner alone", got)
		}
		c.task("POST", ct+"/status/start")
		checkReply(t, "running", c.call("POST", ct+"/move_volume", "volume=rootfs", "storage=local"), 500, "cannot move volumes of a running container")
		if got := c.call("POST", ct+"/move_volume", "volume=rootfs", "storage=local", "digest=00"); got.status != 500 || !strings.HasPrefix(got.reason, "detected modified configuration") {
			t.Errorf("stale digest: got %d %s, want it rejected", got.status, got.reason)
		}
	})
}

// TestSilentGuestAgent: Proxmox waits three seconds for an agent that does not answer, and meanwhile answers other calls.
func TestSilentGuestAgent(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "agent: enabled=1\n")
		if err := c.sim.IgnoreShutdown(100); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		checkReply(t, "silent", c.call("GET", vm100+"/agent/info"), 500, "QEMU guest agent is not running")
		if elapsed := time.Since(began); elapsed != 3*time.Second {
			t.Errorf("got an answer after %s, want 3s", elapsed)
		}
	})
}
