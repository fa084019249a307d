package pvesim

import (
	"strings"
	"testing"
	"time"
)

// imageSection returns the section of a VM's file that says what its cloud-init image holds, "-" without one.
func imageSection(s *Sim, vmid int) string {
	_, section, found := strings.Cut(s.Config(vmid), "[special:cloudinit]\n")
	if !found {
		return "-"
	}
	section, _, _ = strings.Cut(section, "\n[")
	return strings.ReplaceAll(strings.TrimSpace(section), "\n", "|")
}

// TestCloudInitMarksAsRecorded makes the changes of recording 69 in their order, and compares the section of the file and the list after each.
func TestCloudInitMarksAsRecorded(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "name: rec\nide0: local-lvm:cloudinit\nciuser: alice\nnet0: virtio=BC:24:11:00:00:01,bridge=vmbr0\nipconfig0: ip=10.0.0.5/24,gw=10.0.0.1\n")
		const started, noChange = "START", ""
		for _, step := range []struct{ set, section, key, listed string }{
			{"ciuser=bob", "-", "ciuser", "bob"}, // stopped: nothing is marked
			{"ciuser=alice", "-", "ciuser", "alice"},
			{started, "-", "ciuser", "alice"},
			{"ciuser=bob", "ciuser: alice", "ciuser", "alice>bob"},
			{"ciuser=carol", "ciuser: alice", "ciuser", "alice>carol"},
			{"ciuser=alice", "", "ciuser", "alice"},
			{"ipconfig0=ip=10.0.0.6/24", "ipconfig0: ip=10.0.0.5/24,gw=10.0.0.1", "ipconfig0", ""},
			{"ipconfig0=ip=10.0.0.5/24,gw=10.0.0.1", "", "ipconfig0", ""},
			{"ipconfig1=ip=dhcp", "added: ipconfig1", "ipconfig1", ">ip=dhcp"},
			{"delete=ipconfig1", "", "ipconfig1", ""},
			{"delete=ipconfig0", "ipconfig0: ip=10.0.0.5/24,gw=10.0.0.1", "ipconfig0", ">-"},
			{"ipconfig0=ip=dhcp", "ipconfig0: ip=10.0.0.5/24,gw=10.0.0.1", "ipconfig0", ""},
			{"ipconfig0=ip=10.0.0.5/24,gw=10.0.0.1", "", "ipconfig0", ""},
			{"cipassword=secret1", "", "cipassword", "**********"},
			{"cipassword=secret2", "", "cipassword", "**********"},
			{"name=other", "name: rec", "name", ""},
			{"name=rec", "", "name", ""},
			{"delete=name", "name: rec", "name", ">-"},
			{"name=rec", "", "name", ""},
			{"net0=virtio=BC:24:11:00:00:02,bridge=vmbr0", "net0: virtio=BC:24:11:00:00:01,bridge=vmbr0", "net0", ""},
			{noChange, "net0: virtio=BC:24:11:00:00:01,bridge=vmbr0", "net0", ""},
			{"ciuser=bob", "ciuser: alice|net0: virtio=BC:24:11:00:00:01,bridge=vmbr0", "ciuser", "alice>bob"},
			{"ide0=none,media=cdrom", "-", "ciuser", "bob"},
			{"ciuser=gerd", "-", "ciuser", "gerd"}, // no drive, no mark
			{"ide0=local-lvm:cloudinit", "-", "ciuser", "gerd"},
			{"ciuser=hugo", "ciuser: gerd", "ciuser", "gerd>hugo"},
			{"hotplug=disk,network,usb,cloudinit", "ciuser: gerd", "ciuser", "gerd>hugo"},
			{"ipconfig0=ip=dhcp", "-", "ciuser", "hugo"},
		} {
			switch step.set {
			case noChange:
			case started:
				if got := c.task("POST", vm100+"/status/start"); got != "OK" {
					t.Fatal(got)
				}
			default:
				c.ok("PUT", vm100+"/config", step.set)
			}
			if got := imageSection(c.sim, 100); got != step.section {
				t.Errorf("after %q: got section %q, want %q", step.set, got, step.section)
			}
			if got := imageRows(t, c)[step.key]; got != step.listed {
				t.Errorf("after %q: got %s listed as %q, want %q", step.set, step.key, got, step.listed)
			}
		}
	})
}

// TestProcessesAndBoots compares what starts a process with what boots the system. Only a boot reads the cloud-init drive, and the file of a VM in the cluster says the
// same in all cases.
func TestProcessesAndBoots(t *testing.T) {
	pid := func(c *client, path string) string {
		return string(c.ok("GET", path+"/status/current").fields(t)["pid"])
	}
	for name, test := range map[string]struct {
		change             func(t *testing.T, c *client)
		newProcess, booted bool
	}{
		"nothing": {func(*testing.T, *client) {}, false, false},
		"stop and start": {func(t *testing.T, c *client) {
			c.task("POST", vm100+"/status/stop")
			c.task("POST", vm100+"/status/start")
		}, true, true},
		"reboot": {func(t *testing.T, c *client) {
			c.task("POST", vm100+"/status/reboot")
			time.Sleep(time.Minute)
		}, true, true},
		"reset": {func(t *testing.T, c *client) { c.task("POST", vm100+"/status/reset") }, false, false},
		"pause": {func(t *testing.T, c *client) {
			c.task("POST", vm100+"/status/suspend")
			c.task("POST", vm100+"/status/resume")
		}, false, false},
		"start of a hibernated VM": {func(t *testing.T, c *client) {
			c.task("POST", vm100+"/status/suspend", "todisk=1")
			if got := c.task("POST", vm100+"/status/start"); got != "OK" {
				t.Error(got)
			}
		}, true, false},
		"resumption of a hibernated VM": {func(t *testing.T, c *client) {
			c.task("POST", vm100+"/status/suspend", "todisk=1")
			c.task("POST", vm100+"/status/resume")
		}, true, false},
		"live migration": {func(t *testing.T, c *client) {
			if got := c.task("POST", vm100+"/migrate", "target=pve2", "online=1", "with-local-disks=1"); got != "OK" {
				t.Error(got)
			}
			if got := c.task("POST", "/nodes/pve2/qemu/100/migrate", "target=pve1", "online=1", "with-local-disks=1"); got != "OK" {
				t.Error(got)
			}
		}, true, false},
		"rollback with memory": {func(t *testing.T, c *client) {
			c.task("POST", vm100+"/snapshot/full/rollback")
			c.ok("PUT", vm100+"/config", "ciuser=bob")
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{Nodes: []string{"pve1", "pve2"}}, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "name: web\nide2: local-lvm:cloudinit\nciuser: alice\n")
				c.task("POST", vm100+"/status/start")
				if got := c.task("POST", vm100+"/snapshot", "snapname=full", "vmstate=1"); got != "OK" {
					t.Fatal(got)
				}
				c.ok("PUT", vm100+"/config", "ciuser=bob")
				before, was := pid(c, vm100), c.sim.CloudInitRead(100)
				test.change(t, c)
				if got := pid(c, vm100) != before; got != test.newProcess {
					t.Errorf("got a new process: %t, want %t", got, test.newProcess)
				}
				if got := c.sim.CloudInitRead(100) != was; got != test.booted {
					t.Errorf("got the changed user known to the system: %t, want %t", got, test.booted)
				}
			})
		})
	}
}

func TestStartWithMissingSnippet(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "name: web\nide2: local-lvm:cloudinit\n")
		c.ok("PUT", vm100+"/config", "cicustom=user=local:snippets/u.yaml")
		if got, want := c.task("POST", vm100+"/status/start"), "volume 'local:snippets/u.yaml' does not exist"; got != want || c.sim.Running(100) {
			t.Errorf("got %q, running %t, want %q and the VM stopped", got, c.sim.Running(100), want)
		}
		c.ok("PUT", vm100+"/config", "delete=ide2")
		if got := c.task("POST", vm100+"/status/start"); got != "OK" {
			t.Errorf("without a drive: got %q, want OK", got)
		}
	})
}
