package pvesim

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// checkReply fails the test unless the reply has the status and the reason.
func checkReply(t *testing.T, what string, got answer, status int, reason string) {
	t.Helper()
	if got.status != status || got.reason != reason {
		t.Errorf("%s: got %d %s %s, want %d %s", what, got.status, got.reason, got.body, status, reason)
	}
}

func addVM(t *testing.T, s *Sim, vmid int, config string) {
	t.Helper()
	if _, err := s.AddVM(Guest{VMID: vmid, Config: config}); err != nil {
		t.Fatal(err)
	}
}

func addRunningVM(t *testing.T, s *Sim, vmid int, config string) {
	t.Helper()
	if _, err := s.AddVM(Guest{VMID: vmid, Config: config, Running: true}); err != nil {
		t.Fatal(err)
	}
}

const vm100 = "/nodes/pve1/qemu/100"

func TestMissingMACIsGenerated(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "name: a\n")
		macs := map[string]bool{}
		for range 3 {
			c.ok("PUT", vm100+"/config", "net0=bridge=vmbr0,model=virtio,firewall=yes")
			got := c.config(100)["net0"]
			if !regexp.MustCompile(`^virtio=BC:24:11(:[0-9A-F]{2}){3},bridge=vmbr0,firewall=1$`).MatchString(got) {
				t.Fatalf("net0: got %s, want a generated MAC first and the rest sorted", got)
			}
			macs[got] = true
		}
		if len(macs) != 3 {
			t.Errorf("addresses of three equal writes: got %d, want 3", len(macs))
		}
	})
}

func TestAllocationNeverReuses(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "scsi0: local-lvm:1\n")
		c.ok("PUT", vm100+"/config", "scsi0=local-lvm:2,size=9G")
		conf := c.config(100)
		if conf["scsi0"] != "local-lvm:vm-100-disk-1,size=2G" || conf["unused0"] != "local-lvm:vm-100-disk-0" {
			t.Errorf("after a second allocation: got %v, want a new disk and the old one unused", conf)
		}
		c.ok("PUT", vm100+"/config", "scsi1=local-lvm:vm-100-disk-0,discard=on,backup=0")
		conf = c.config(100)
		if conf["scsi1"] != "local-lvm:vm-100-disk-0,backup=0,discard=on,size=1G" || conf["unused0"] != "" {
			t.Errorf("after attaching: got %v, want the unused volume on scsi1", conf)
		}
		c.ok("PUT", vm100+"/config", "delete=scsi1")
		if conf = c.config(100); conf["scsi1"] != "" || conf["unused0"] != "local-lvm:vm-100-disk-0" {
			t.Errorf("after detaching: got %v, want unused0", conf)
		}
		if c.sim.volume("local-lvm:vm-100-disk-0") == nil {
			t.Error("volume after detaching: got it freed, want it kept")
		}
		c.ok("PUT", vm100+"/config", "delete=unused0")
		if c.sim.volume("local-lvm:vm-100-disk-0") != nil {
			t.Error("volume after deleting unused0: got it kept, want it freed")
		}
	})
}

func TestProtection(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "protection: 1\nscsi0: local-lvm:1\n")
		checkReply(t, "destroy", c.call("DELETE", vm100), 500, "can't remove VM 100 - protection mode enabled")
		checkReply(t, "detach", c.call("PUT", vm100+"/config", "delete=scsi0"), 500, "can't remove drive 'scsi0' - protection mode enabled")
		if got := c.task("PUT", vm100+"/resize", "disk=scsi0", "size=2G"); got != "OK" {
			t.Errorf("resize of a protected VM: got %s, want OK", got)
		}
	})
}

func TestResizeRulesDifferByKind(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "scsi0: local-lvm:2\n")
		if _, err := c.sim.AddCT(Guest{VMID: 200, Config: "rootfs: local-lvm:2\n"}); err != nil {
			t.Fatal(err)
		}
		for size, want := range map[string]string{"1G": "shrinking disks is not supported", "2G": "OK", "+0": "OK"} {
			if got := c.task("PUT", vm100+"/resize", "disk=scsi0", "size="+size); got != want {
				t.Errorf("vm to %s: got %s, want %s", size, got, want)
			}
		}
		if got := c.sim.Effects(100, Resized); got != 0 {
			t.Errorf("resized: got %d, want 0", got)
		}
		ct := "/nodes/pve1/lxc/200/resize"
		checkReply(t, "ct smaller", c.call("PUT", ct, "disk=rootfs", "size=1G"), 500, "unable to shrink disk size")
		checkReply(t, "ct same", c.call("PUT", ct, "disk=rootfs", "size=2G"), 500, "disk is already at specified size")
		if got := c.task("PUT", ct, "disk=rootfs", "size=+1.5G"); got != "OK" {
			t.Errorf("ct grow: got %s, want OK", got)
		}
		if got, want := c.sim.Value(200, "rootfs"), "local-lvm:vm-200-disk-0,size=3584M"; got != want {
			t.Errorf("rootfs: got %s, want %s", got, want)
		}
	})
}

func TestLinkedClone(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		if _, err := c.sim.AddTemplate(Guest{VMID: 9000, Config: "name: tmpl\nscsi0: local-lvm:2\nnet0: virtio,bridge=vmbr0\ntags: base\nonboot: 1\n"}); err != nil {
			t.Fatal(err)
		}
		if got := c.task("POST", "/nodes/pve1/qemu/9000/clone", "newid=100", "name=web"); got != "OK" {
			t.Fatalf("clone: got %s, want OK", got)
		}
		conf := c.config(100)
		if conf["scsi0"] != "local-lvm:base-9000-disk-0/vm-100-disk-0,size=2G" || conf["tags"] != "base" || conf["template"] != "" {
			t.Errorf("linked clone: got %v, want it on the base volume with the tags", conf)
		}
		for _, k := range []string{"net0", "vmgenid", "smbios1"} {
			if conf[k] == c.sim.Value(9000, k) {
				t.Errorf("%s of the clone: got the source's %s, want its own", k, conf[k])
			}
		}
		if tags := c.config(9000)["tags"]; tags != "base" {
			t.Errorf("tags of the template: got %s, want base", tags)
		}
		if got, want := c.task("DELETE", "/nodes/pve1/qemu/9000"), "base volume 'local-lvm:base-9000-disk-0' is still in use by linked cloned"; got != want {
			t.Errorf("destroy of the template: got %s, want %s", got, want)
		}
		tasks := c.sim.Tasks()
		if tasks[0].Type != "qmclone" || tasks[0].VMID != 9000 {
			t.Errorf("clone task: got %s of %d, want qmclone of the source", tasks[0].Type, tasks[0].VMID)
		}
	})
}

func TestNextIDReservesNothing(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		for range 2 {
			if got := string(c.ok("GET", "/cluster/nextid").data(t)); got != `"100"` {
				t.Errorf("next id: got %s, want the string 100 each time", got)
			}
		}
		addVM(t, c.sim, 100, "")
		got := c.call("GET", "/cluster/nextid", "vmid=100")
		if got.status != 400 || !strings.Contains(got.body, `"vmid":"VM 100 already exists"`) {
			t.Errorf("taken id: got %d %s, want 400", got.status, got.body)
		}
		checkReply(t, "create over it", c.call("POST", "/nodes/pve1/qemu", "vmid=100"), 500, "unable to create VM 100 - VM 100 already exists on node 'pve1'")
	})
}

func TestResourcesDelayed(t *testing.T) {
	bubble(t, Options{ResourcesPeriod: 10 * time.Second}, func(t *testing.T, c *client) {
		time.Sleep(time.Second)
		c.task("POST", "/nodes/pve1/qemu", "vmid=100", "name=new", "tags=a")
		body := c.ok("GET", "/cluster/resources", "type=vm").body
		if !strings.Contains(body, `"status":"unknown"`) || strings.Contains(body, `"name"`) || !strings.Contains(body, `"tags":"a"`) {
			t.Errorf("right after create: got %s, want status unknown, no name, tags", body)
		}
		time.Sleep(11 * time.Second)
		if body = c.ok("GET", "/cluster/resources", "type=vm").body; !strings.Contains(body, `"name":"new"`) {
			t.Errorf("a round later: got %s, want the name", body)
		}
		c.task("POST", vm100+"/status/start")
		if body = c.ok("GET", "/cluster/resources", "type=vm").body; !strings.Contains(body, `"status":"stopped"`) {
			t.Errorf("right after start: got %s, want it stopped as the last round saw it", body)
		}
	})
}

// A cluster that lost its quorum before the manager's round keeps the request, as the manager reads its configuration in each round.
func TestHAActsWhenQuorumIsBack(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		c.ok("POST", "/cluster/ha/resources", "sid=vm:100", "state=started")
		c.sim.LoseQuorum()
		time.Sleep(time.Minute)
		synctest.Wait()
		if body := c.ok("GET", "/cluster/resources", "type=vm").body; c.sim.HAState(100) != "" || c.sim.Running(100) {
			t.Fatalf("without quorum: got %s, want no state of the manager, and the guest stopped", body)
		}
		c.sim.RegainQuorum()
		time.Sleep(21 * time.Second)
		synctest.Wait()
		if body := c.ok("GET", "/cluster/resources", "type=vm").body; !strings.Contains(body, `"hastate":"started"`) || !c.sim.Running(100) {
			t.Errorf("a round after it has quorum: got %s, want the guest started by the manager", body)
		}
	})
}

func TestHAActsAfterDelay(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		c.ok("POST", "/cluster/ha/resources", "sid=vm:100", "state=stopped")
		if got := c.task("POST", vm100+"/status/start"); got != "OK" {
			t.Fatalf("start: got %s, want OK", got)
		}
		if c.sim.Running(100) {
			t.Error("right after hastart: got it running, want it stopped")
		}
		time.Sleep(21 * time.Second)
		synctest.Wait()
		if !c.sim.Running(100) {
			t.Error("after the manager acted: got it stopped, want it running")
		}
		last := c.sim.Tasks()[len(c.sim.Tasks())-1]
		if last.Type != "qmstart" {
			t.Errorf("last task: got %s, want the manager's qmstart", last.Type)
		}
	})
}
