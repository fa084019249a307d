package pvesim

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestMissingGuests(t *testing.T) {
	const gone = "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist"
	bubble(t, Options{}, func(t *testing.T, c *client) {
		const vm = "/nodes/pve1/qemu/999"
		checkReply(t, "read", c.call("GET", vm+"/config"), 500, gone)
		checkReply(t, "write", c.call("PUT", vm+"/config", "cores=1"), 500, gone)
		checkReply(t, "destroy", c.call("DELETE", vm), 500, gone)
		checkReply(t, "clone", c.call("POST", vm+"/clone", "newid=100"), 500, "unable to find configuration file for VM 999 on node 'pve1'")
		checkReply(t, "container", c.call("GET", "/nodes/pve1/lxc/999/config"), 500, "Configuration file 'nodes/pve1/lxc/999.conf' does not exist")
		for op, want := range map[string]string{"start": gone, "stop": "unable to find configuration file for VM 999 on node 'pve1'"} {
			if got := c.task("POST", vm+"/status/"+op); got != want {
				t.Errorf("%s: got %s, want it to fail in the task with %s", op, got, want)
			}
		}
	})
}

func TestStateErrorsDifferByKind(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		addRunningVM(t, c.sim, 101, "")
		if _, err := c.sim.AddCT(Guest{VMID: 200}); err != nil {
			t.Fatal(err)
		}
		for _, op := range []string{"stop", "shutdown"} {
			if got := c.task("POST", vm100+"/status/"+op); got != "OK" {
				t.Errorf("%s of a stopped VM: got %s, want OK", op, got)
			}
			checkReply(t, op+" of a stopped container", c.call("POST", "/nodes/pve1/lxc/200/status/"+op), 500, "CT 200 not running")
		}
		for _, op := range []string{"reboot", "reset", "suspend", "resume"} {
			checkReply(t, op+" of a stopped VM", c.call("POST", vm100+"/status/"+op), 500, "VM 100 not running")
		}
		if got := c.task("POST", "/nodes/pve1/qemu/101/status/start"); got != "VM 101 already running" {
			t.Errorf("start of a running VM: got %s, want it to fail in the task", got)
		}
		c.task("POST", "/nodes/pve1/lxc/200/status/start")
		checkReply(t, "start of a running container", c.call("POST", "/nodes/pve1/lxc/200/status/start"), 500, "CT 200 already running")
		if got := c.sim.Effects(100, Stopped) + c.sim.Effects(101, Started); got != 0 {
			t.Errorf("effects: got %d, want none", got)
		}
	})
}

func TestDestroyRules(t *testing.T) {
	bubble(t, Options{HADelay: -1}, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "")
		addVM(t, c.sim, 101, "lock: suspended\n")
		addVM(t, c.sim, 102, "scsi0: local-lvm:1\n")
		addVM(t, c.sim, 103, "scsi0: local-lvm:1\nunused0: local-lvm:vm-103-disk-5\n")
		for _, id := range []string{"local-lvm:vm-103-disk-5", "local-lvm:vm-103-disk-6"} {
			if err := c.sim.AddVolume(id, gib); err != nil {
				t.Fatal(err)
			}
		}
		checkReply(t, "running", c.call("DELETE", vm100), 500, "VM 100 is running - destroy failed")
		if got := c.task("DELETE", "/nodes/pve1/qemu/101"); got != "OK" {
			t.Errorf("hibernated: got %s, want OK", got)
		}
		c.ok("POST", "/cluster/ha/resources", "sid=vm:102")
		checkReply(t, "under HA", c.call("DELETE", "/nodes/pve1/qemu/102"), 500, "unable to remove VM 102 - used in HA resources and purge parameter not set.")
		_ = c.sim.locked(func() error { c.sim.free("local-lvm:vm-102-disk-0", freedOnHost); return nil })
		if got := c.task("DELETE", "/nodes/pve1/qemu/102", "purge=1"); got != "OK" {
			t.Errorf("without its disk: got %s, want OK", got)
		}
		c.task("DELETE", "/nodes/pve1/qemu/103")
		var left []string
		for _, v := range c.sim.Volumes() {
			left = append(left, v.ID)
		}
		if got := strings.Join(left, " "); got != "local-lvm:vm-103-disk-6" {
			t.Errorf("volumes left: got %s, want the one that no config named", got)
		}
	})
}

func TestRebootAppliesPendingInAnotherTask(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "cores: 1\n")
		c.ok("PUT", vm100+"/config", "cores=2")
		if got := c.as("gitops@pve!agent").task("POST", vm100+"/status/reboot"); got != "OK" {
			t.Fatalf("reboot: got %s, want OK", got)
		}
		if c.sim.Running(100) {
			t.Error("when the reboot's task has ended: got it running, want it down")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		tasks := c.sim.Tasks()
		last := tasks[len(tasks)-1]
		if last.Type != "qmstart" || !strings.HasSuffix(last.UPID, ":root@pam:") || !c.sim.Running(100) || c.sim.Value(100, "cores") != "2" {
			t.Errorf("afterwards: got %s running %v cores %s, want a start by root@pam with the change", last.UPID, c.sim.Running(100), c.sim.Value(100, "cores"))
		}
	})
}

func TestExitStatuses(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "bios: ovmf\nscsi0: local-lvm:1,iothread=1\n")
		addVM(t, c.sim, 101, "")
		if got := c.task("POST", vm100+"/status/start"); got != "WARNINGS: 2" || !c.sim.Running(100) {
			t.Errorf("start with warnings: got %s running %v, want WARNINGS: 2 and running", got, c.sim.Running(100))
		}
		if body := c.ok("GET", "/nodes/pve1/tasks", "errors=1").body; !strings.Contains(body, "WARNINGS: 2") {
			t.Errorf("errors: got %s, want the one with warnings listed", body)
		}
		inject(t, c.sim, Fault{Kind: TaskKilled, Path: "/status/start$"})
		if got := c.task("POST", "/nodes/pve1/qemu/101/status/start"); got != "unexpected status" {
			t.Errorf("killed: got %s, want unexpected status", got)
		}
	})
}

func TestUnauthorizedIsSlow(t *testing.T) {
	bubble(t, Options{UnauthorizedDelay: 3 * time.Second}, func(t *testing.T, c *client) {
		c.token = "nobody@pve!x=y"
		begun := time.Now()
		got := c.call("GET", "/version")
		checkReply(t, "unknown token", got, 401, "Authentication failed!")
		if d := time.Since(begun); d != 3*time.Second || got.body != "" {
			t.Errorf("unknown token: got %s and body %q, want 3s and none", d, got.body)
		}
	})
}

func TestOrderOfKeysAndContentsIsRandom(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "cores: 1\nsockets: 1\nonboot: 1\nname: a\n")
		configs, contents := map[string]bool{}, map[string]bool{}
		for range 50 {
			configs[c.ok("GET", vm100+"/config").body] = true
			var s struct{ Content string }
			if err := json.Unmarshal(c.ok("GET", "/nodes/pve1/storage/local/status").data(t), &s); err != nil {
				t.Fatal(err)
			}
			contents[s.Content] = true
		}
		if len(configs) < 2 || len(contents) < 2 {
			t.Errorf("fifty reads: got %d orders of keys and %d of contents, want more than one of each", len(configs), len(contents))
		}
	})
}

func TestMergedConfigHidesAPendingDelete(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "cores: 2\nkvm: 0\n")
		c.ok("PUT", vm100+"/config", "delete=cores,kvm")
		merged, now := c.config(100), c.ok("GET", vm100+"/config", "current=1").fields(t)
		if merged["cores"] != "" || merged["kvm"] != "0" {
			t.Errorf("merged: got cores %q and kvm %q, want the first gone and the false one still there", merged["cores"], merged["kvm"])
		}
		if now["cores"] != "2" {
			t.Errorf("current: got cores %q, want 2", now["cores"])
		}
		if body := c.ok("GET", vm100+"/pending").body; !strings.Contains(body, `{"key":"cores","value":2,"delete":1}`) {
			t.Errorf("pending: got %s, want the delete beside the value", body)
		}
	})
}

func TestIDIsFreeAgainAfterADestroy(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		if got := c.task("POST", "/nodes/pve1/qemu", "vmid=100", "name=first"); got != "OK" {
			t.Fatal(got)
		}
		first := c.config(100)["smbios1"]
		c.task("DELETE", vm100)
		if got := string(c.ok("GET", "/cluster/nextid").data(t)); got != `"100"` {
			t.Errorf("next id: got %s, want the one just freed", got)
		}
		c.task("POST", "/nodes/pve1/qemu", "vmid=100", "name=second")
		if got := c.config(100)["smbios1"]; got == first {
			t.Errorf("uuid of the new guest: got the old %s, want another", got)
		}
	})
}
