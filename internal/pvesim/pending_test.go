package pvesim

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPendingOnARunningVM(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "cores: 1\nmemory: 512\nscsi0: local-lvm:1\nnet0: virtio,bridge=vmbr0\nserial0: socket\n")
		c.ok("PUT", vm100+"/config", "cores=4", "name=now", "delete=serial0", "scsi1=local-lvm:1", "ciuser=ops")
		now := c.ok("GET", vm100+"/config", "current=1").fields(t)
		if now["cores"] != "1" || now["name"] != "now" || now["serial0"] != "socket" || now["scsi1"] == "" || now["ciuser"] != "ops" {
			t.Errorf("running: got %v, want cores and serial0 as before, the rest applied", now)
		}
		merged := c.config(100)
		if merged["cores"] != "4" || merged["serial0"] != "" {
			t.Errorf("merged: got %v, want cores 4 and no serial0", merged)
		}
		var rows []struct {
			Key     string
			Pending json.RawMessage
			Delete  int
		}
		if err := json.Unmarshal(c.ok("GET", vm100+"/pending").data(t), &rows); err != nil {
			t.Fatal(err)
		}
		seen := map[string]string{}
		for _, r := range rows {
			if r.Pending != nil {
				seen[r.Key] = string(r.Pending)
			}
			if r.Delete > 0 {
				seen[r.Key] = "delete"
			}
		}
		if len(seen) != 2 || seen["cores"] != "4" || seen["serial0"] != "delete" {
			t.Errorf("pending: got %v, want cores 4 and serial0 deleted", seen)
		}
		c.ok("PUT", vm100+"/config", "revert=cores")
		if got := c.config(100)["cores"]; got != "1" {
			t.Errorf("cores after revert: got %s, want 1", got)
		}
		if got := c.task("POST", vm100+"/status/reboot"); got != "OK" {
			t.Fatalf("reboot: got %s, want OK", got)
		}
		time.Sleep(time.Second) // a separate task starts the VM
		synctest.Wait()
		if !c.sim.Running(100) || c.sim.Value(100, "serial0") != "" {
			t.Errorf("after reboot: got running %v serial0 %q, want it running without", c.sim.Running(100), c.sim.Value(100, "serial0"))
		}
	})
}

// TestHotplugFeaturesPending checks that a change of the key hotplug that involves memory or cpu waits for the next start.
func TestHotplugFeaturesPending(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "name: a\n")
		for _, step := range []struct{ write, now, pending string }{
			{"hotplug=network", "network", ""},
			{"hotplug=network,cpu", "network", "network,cpu"},
			{"hotplug=disk", "disk", ""},
			{"hotplug=memory,disk", "disk", "memory,disk"},
		} {
			c.ok("PUT", vm100+"/config", step.write)
			now := c.ok("GET", vm100+"/config", "current=1").fields(t)["hotplug"]
			_, pending, _ := strings.Cut(c.sim.Config(100), "[PENDING]")
			if now != step.now || strings.Contains(pending, "hotplug: "+step.pending) != (step.pending != "") {
				t.Errorf("%s: got %s now and %q waiting, want %s and %q", step.write, now, pending, step.now, step.pending)
			}
		}
		if got := c.task("POST", vm100+"/status/stop"); got != "OK" {
			t.Fatalf("stop: got %s, want OK", got)
		}
		if got := c.sim.Value(100, "hotplug"); got != "memory,disk" {
			t.Errorf("after a stop: got %s, want memory,disk", got)
		}
		if got := c.task("POST", vm100+"/status/start"); got != "OK" {
			t.Fatalf("start: got %s, want OK", got)
		}
		c.ok("PUT", vm100+"/config", "delete=hotplug")
		if got := c.sim.Value(100, "hotplug"); got != "memory,disk" {
			t.Errorf("after a delete: got %q, want memory,disk until the next start", got)
		}
	})
}

func TestRestartFromInside(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "cores: 1\n")
		if _, err := c.sim.AddCT(Guest{VMID: 200, Running: true}); err != nil {
			t.Fatal(err)
		}
		c.ok("PUT", vm100+"/config", "cores=2")
		c.ok("PUT", "/nodes/pve1/lxc/200/config", "nameserver=1.1.1.1")
		time.Sleep(time.Minute)
		for _, id := range []int{100, 200} {
			if err := c.sim.RestartInside(id); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.sim.Value(100, "cores"); got != "1" || !strings.Contains(c.sim.Config(100), "[PENDING]\ncores: 2\n") {
			t.Errorf("VM: got cores %s, want the change still pending", got)
		}
		if got := c.ok("GET", vm100+"/status/current").fields(t)["uptime"]; got != "60" {
			t.Errorf("uptime: got %s, want 60: the process of the VM survives", got)
		}
		if got := c.sim.Value(200, "nameserver"); got != "1.1.1.1" || !c.sim.Running(200) {
			t.Errorf("container: got nameserver %q, want the change applied", got)
		}
		if err := c.sim.RestartInside(999); err == nil {
			t.Error("missing guest: got no error, want one")
		}
	})
}

func TestDigestsAndLocks(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "cores: 1\nscsi0: local-lvm:1\n")
		if _, err := c.sim.AddCT(Guest{VMID: 200}); err != nil {
			t.Fatal(err)
		}
		const stale = "digest=0000000000000000000000000000000000000000"
		checkReply(t, "vm", c.call("PUT", vm100+"/config", "cores=2", stale), 500, "checksum mismatch (file change by other user?)")
		checkReply(t, "vm async", c.call("POST", vm100+"/config", "cores=2", stale), 500, "checksum mismatch (file change by other user?)")
		if got, want := c.task("PUT", vm100+"/resize", "disk=scsi0", "size=+1G", stale), "checksum mismatch (file change by other user?)"; got != want {
			t.Errorf("resize: got %s, want %s", got, want)
		}
		checkReply(t, "ct", c.call("PUT", "/nodes/pve1/lxc/200/config", "cores=2", stale), 500,
			"detected modified configuration - file changed by other user? Try again.")
		c.ok("PUT", vm100+"/config", "cores=2", "digest="+c.sim.Digest(100))

		if err := c.sim.Edit(100, "lock", "backup"); err != nil {
			t.Fatal(err)
		}
		checkReply(t, "locked", c.call("PUT", vm100+"/config", "cores=3"), 500, "VM is locked (backup)")
		if got, want := c.task("POST", vm100+"/status/start"), "VM is locked (backup)"; got != want {
			t.Errorf("start of a locked VM: got %s, want %s", got, want)
		}
		if err := c.sim.Edit(100, "lock", ""); err != nil {
			t.Fatal(err)
		}
		unlock, err := c.sim.LockGuest(100)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		checkReply(t, "flock", c.call("PUT", vm100+"/config", "cores=3"), 500, "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout")
		if waited := time.Since(begun); waited != 10*time.Second {
			t.Errorf("wait for the lock: got %s, want 10s", waited)
		}
		unlock()
		c.ok("PUT", vm100+"/config", "cores=3")
	})
}
