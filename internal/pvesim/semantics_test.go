package pvesim

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// refused demands a status and a reason.
func refused(t *testing.T, what string, got answer, status int, reason string) {
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

func TestMACIsRedrawnWithoutOne(t *testing.T) {
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
		time.Sleep(time.Second) // the start is another task
		synctest.Wait()
		if !c.sim.Running(100) || c.sim.Value(100, "serial0") != "" {
			t.Errorf("after reboot: got running %v serial0 %q, want it running without", c.sim.Running(100), c.sim.Value(100, "serial0"))
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
		refused(t, "vm", c.call("PUT", vm100+"/config", "cores=2", stale), 500, "checksum mismatch (file change by other user?)")
		refused(t, "vm async", c.call("POST", vm100+"/config", "cores=2", stale), 500, "checksum mismatch (file change by other user?)")
		if got, want := c.task("PUT", vm100+"/resize", "disk=scsi0", "size=+1G", stale), "checksum mismatch (file change by other user?)"; got != want {
			t.Errorf("resize: got %s, want %s", got, want)
		}
		refused(t, "ct", c.call("PUT", "/nodes/pve1/lxc/200/config", "cores=2", stale), 500,
			"detected modified configuration - file changed by other user? Try again.")
		c.ok("PUT", vm100+"/config", "cores=2", "digest="+c.sim.Digest(100))

		if err := c.sim.Edit(100, "lock", "backup"); err != nil {
			t.Fatal(err)
		}
		refused(t, "locked", c.call("PUT", vm100+"/config", "cores=3"), 500, "VM is locked (backup)")
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
		refused(t, "flock", c.call("PUT", vm100+"/config", "cores=3"), 500, "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout")
		if waited := time.Since(begun); waited != 10*time.Second {
			t.Errorf("wait for the lock: got %s, want 10s", waited)
		}
		unlock()
		c.ok("PUT", vm100+"/config", "cores=3")
	})
}

func TestProtection(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "protection: 1\nscsi0: local-lvm:1\n")
		refused(t, "destroy", c.call("DELETE", vm100), 500, "can't remove VM 100 - protection mode enabled")
		refused(t, "detach", c.call("PUT", vm100+"/config", "delete=scsi0"), 500, "can't remove drive 'scsi0' - protection mode enabled")
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
		refused(t, "ct smaller", c.call("PUT", ct, "disk=rootfs", "size=1G"), 500, "unable to shrink disk size")
		refused(t, "ct same", c.call("PUT", ct, "disk=rootfs", "size=2G"), 500, "disk is already at specified size")
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

func TestSecretsAreMaskedAndKeysChecked(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "ide2: local-lvm:cloudinit\n")
		c.ok("PUT", vm100+"/config", "cipassword=hunter2")
		if got := c.config(100)["cipassword"]; got != "**********" {
			t.Errorf("cipassword: got %s, want it masked", got)
		}
		if text := c.sim.Config(100); strings.Contains(text, "hunter2") || !strings.Contains(text, "cipassword: $5$") {
			t.Errorf("file: got %q, want a hash", text)
		}
		got := c.call("PUT", vm100+"/config", "sshkeys=ssh-ed25519 AAAA x")
		if got.status != 400 || !strings.Contains(got.body, "invalid urlencoded string") {
			t.Errorf("raw key: got %d %s, want 400", got.status, got.body)
		}
		refused(t, "bad key", c.call("PUT", vm100+"/config", "sshkeys=not%20a%20key"), 500, "SSH public key validation error")
		const key = "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIMjJIgmBwGHzxaes7iXh%2Fdc%2F0gj2H%2BIRWkEN5c9tx7Wa%20a%40h%0A"
		c.ok("PUT", vm100+"/config", "sshkeys="+key)
		if got := c.config(100)["sshkeys"]; got != key {
			t.Errorf("sshkeys: got %s, want them as sent", got)
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
		refused(t, "create over it", c.call("POST", "/nodes/pve1/qemu", "vmid=100"), 500, "unable to create VM 100 - VM 100 already exists on node 'pve1'")
	})
}

func TestPrivileges(t *testing.T) {
	opts := Options{Tokens: append(DefaultTokens(), Token{ID: "u@pve!disk", Secret: "s", ACL: []ACL{
		{Path: "/vms/100", Privileges: []string{"VM.Audit", "VM.Config.CPU"}},
	}})}
	bubble(t, opts, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "scsi0: local-lvm:1\n")
		addVM(t, c.sim, 101, "")
		u := c.as("u@pve!disk")
		u.ok("PUT", vm100+"/config", "cores=2")
		refused(t, "disk key", u.call("PUT", vm100+"/config", "scsi1=local-lvm:1"), 403, "Permission check failed (/vms/100, VM.Config.Disk)")
		refused(t, "other guest", u.call("GET", "/nodes/pve1/qemu/101/config"), 403, "Permission check failed (/vms/101, VM.Audit)")
		refused(t, "power", u.call("POST", vm100+"/status/start"), 403, "Permission check failed (/vms/100, VM.PowerMgmt)")
		if got := strings.Count(u.ok("GET", "/cluster/resources", "type=vm").body, "vmid"); got != 1 {
			t.Errorf("inventory of a limited token: got %d guests, want 1", got)
		}
		refused(t, "root-only key", c.call("PUT", vm100+"/config", "args=-x"), 500, "only root can set 'args' config")
		c.sim.SetPrivileges("u@pve!disk", nil)
		refused(t, "revoked", u.call("GET", vm100+"/config"), 403, "Permission check failed (/vms/100, VM.Audit)")
		u.token = "u@pve!disk=wrong"
		got := u.call("GET", "/version")
		refused(t, "wrong secret", got, 401, "Authentication failed!")
		if got.body != "" {
			t.Errorf("body of a 401: got %q, want none", got.body)
		}
	})
}

func TestContainerLife(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		if err := c.sim.AddVolume("local:vztmpl/debian-13.tar.zst", 1<<20); err != nil {
			t.Fatal(err)
		}
		got := c.task("POST", "/nodes/pve1/lxc", "vmid=200", "ostemplate=local:vztmpl/debian-13.tar.zst", "rootfs=local-lvm:8",
			"net0=bridge=vmbr0,name=eth0", "nameserver=1.1.1.1,9.9.9.9")
		if got != "OK" {
			t.Fatalf("create: got %s, want OK", got)
		}
		const ct = "/nodes/pve1/lxc/200"
		conf := c.ok("GET", ct+"/config").fields(t)
		if conf["rootfs"] != "local-lvm:vm-200-disk-0,size=8G" || conf["nameserver"] != "1.1.1.1 9.9.9.9" || conf["ostype"] != "debian" ||
			!strings.HasSuffix(conf["net0"], ",type=veth") || conf["unprivileged"] != "1" {
			t.Errorf("config: got %v, want the defaults filled in", conf)
		}
		refused(t, "stop when stopped", c.call("POST", ct+"/status/stop"), 500, "CT 200 not running")
		if got := c.task("POST", ct+"/status/start"); got != "OK" {
			t.Fatalf("start: got %s, want OK", got)
		}
		refused(t, "start when running", c.call("POST", ct+"/status/start"), 500, "CT 200 already running")
		c.ok("PUT", ct+"/config", "memory=1024", "nameserver=8.8.8.8")
		now := c.ok("GET", ct+"/config", "current=1").fields(t)
		if now["memory"] != "1024" || now["nameserver"] != "1.1.1.1 9.9.9.9" {
			t.Errorf("running: got memory %s nameserver %s, want the one applied and the other pending", now["memory"], now["nameserver"])
		}
		refused(t, "unprivileged", c.call("PUT", ct+"/config", "unprivileged=0"), 500, "unable to modify read-only option: 'unprivileged'")
		refused(t, "destroy running", c.call("DELETE", ct), 500, "unable to destroy CT 200 - container is running")
		if got := c.task("POST", ct+"/status/shutdown"); got != "OK" {
			t.Errorf("shutdown: got %s, want OK", got)
		}
		if got := c.task("DELETE", ct); got != "OK" || c.sim.volume("local-lvm:vm-200-disk-0") != nil {
			t.Errorf("destroy: got %s, want OK and no volume", got)
		}
	})
}

func TestResourcesLag(t *testing.T) {
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

func TestHAActsLate(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		c.ok("POST", "/cluster/ha/resources", "sid=vm:100", "state=stopped")
		if got := c.task("POST", vm100+"/status/start"); got != "OK" {
			t.Fatalf("start: got %s, want OK", got)
		}
		if c.sim.Running(100) {
			t.Error("right after hastart: got it running, want it stopped")
		}
		time.Sleep(11 * time.Second)
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
