package pvesim

import (
	"strings"
	"testing"
)

const ct200 = "/nodes/pve1/lxc/200"

// newestBackup backs up a guest and returns the id of the archive.
func newestBackup(t *testing.T, c *client, vmid string) string {
	t.Helper()
	if got := c.task("POST", "/nodes/pve1/vzdump", "vmid="+vmid, "storage=local"); got != "OK" {
		t.Fatalf("got %s of the backup, want OK", got)
	}
	body := c.ok("GET", "/nodes/pve1/storage/local/content", "content=backup").body
	from := strings.LastIndex(body, "local:backup/")
	return body[from : from+strings.Index(body[from:], `"`)]
}

// TestRestoreOverAGuest restores with force over a guest that exists: of a VM the disks that the archive has are replaced, and the others become unused;
// of a container every volume is replaced. Snapshots are lost. A protected or running guest stays as it is.
func TestRestoreOverAGuest(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "name: before\nmemory: 64\nscsi0: local-lvm:1\n")
		archive := newestBackup(t, c, "100")
		c.ok("PUT", vm100+"/config", "name=after", "scsi1=local-lvm:2")
		c.task("POST", vm100+"/snapshot", "snapname=kept")
		disks := c.config(100)
		over := []string{"vmid=100", "archive=" + archive, "force=1"}

		checkReply(t, "without force", c.call("POST", "/nodes/pve1/qemu", over[:2]...), 500, "unable to restore VM 100 - VM 100 already exists on node 'pve1'")
		c.ok("PUT", vm100+"/config", "protection=1")
		if got, want := c.task("POST", "/nodes/pve1/qemu", over...), "unable to restore VM 100 - - protection mode enabled"; got != want {
			t.Errorf("got %q for a protected VM, want %q", got, want)
		}
		c.ok("PUT", vm100+"/config", "delete=protection")
		c.task("POST", vm100+"/status/start")
		if got, want := c.task("POST", "/nodes/pve1/qemu", over...), "unable to restore VM 100 - vm is running"; got != want {
			t.Errorf("got %q for a running VM, want %q", got, want)
		}
		c.task("POST", vm100+"/status/stop")
		if conf := c.config(100); conf["lock"] != "" || conf["name"] != "after" || conf["scsi1"] == "" || c.sim.volume("local-lvm:vm-100-disk-0") == nil {
			t.Errorf("got %v after refused restores, want the VM unchanged and unlocked", conf)
		}

		if got := c.task("POST", "/nodes/pve1/qemu", over...); got != "OK" {
			t.Fatalf("got %s of the restore, want OK", got)
		}
		conf := c.config(100)
		second, _, _ := strings.Cut(disks["scsi1"], ",")
		if conf["name"] != "before" || conf["scsi1"] != "" || conf["unused0"] != second || conf["scsi0"] == disks["scsi0"] || conf["lock"] != "" {
			t.Errorf("got %v, want the archived configuration, and the disk that the archive lacks as unused", conf)
		}
		if first, _, _ := strings.Cut(disks["scsi0"], ","); c.sim.volume(first) != nil || strings.Contains(c.sim.Config(100), "[kept]") {
			t.Errorf("got the replaced disk %s or the snapshot still there, want both gone", first)
		}
	})
}

// TestNamesOfCloudInitDrives restores a VM over itself and adds a cloud-init drive to a template. Neither gives the drive another name.
//
// Source: PVE::QemuServer restore_allocate_devices and template_create.
func TestNamesOfCloudInitDrives(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "memory: 64\nide2: local:cloudinit\nscsi0: local-lvm:1\n")
		name := c.config(100)["ide2"]
		if got := c.task("POST", "/nodes/pve1/qemu", "vmid=100", "archive="+newestBackup(t, c, "100"), "force=1"); got != "OK" {
			t.Fatalf("got %s of the restore, want OK", got)
		}
		volume, _, _ := strings.Cut(name, ",")
		if got := c.config(100)["ide2"]; !strings.HasPrefix(got, name) || c.sim.volume(volume) == nil {
			t.Errorf("got the drive %q after the restore, want %q with its volume", got, name)
		}
		if _, err := c.sim.AddTemplate(Guest{VMID: 101, Config: "memory: 64\n"}); err != nil {
			t.Fatal(err)
		}
		c.ok("PUT", "/nodes/pve1/qemu/101/config", "ide2=local:cloudinit")
		if got := c.config(101)["ide2"]; !strings.Contains(got, "/vm-101-cloudinit.") {
			t.Errorf("got the drive %q of a template, want it named as that of any VM", got)
		}
	})
}

// TestLinesOfLXC holds what transcripts show of the settings "lxc.KEY: VALUE" in the file of a container: the API returns them as pairs, every write, snapshot
// and clone keeps them, no call sets them, and a restore by a token, even of root, leaves them out with a warning.
func TestLinesOfLXC(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		const lines, pairs = "lxc.init.uid: 1000\nlxc.signal.halt: SIGQUIT", `"lxc":[["lxc.init.uid","1000"],["lxc.signal.halt","SIGQUIT"]]`
		if _, err := c.sim.AddCT(Guest{VMID: 200, Config: "memory: 64\nrootfs: local-lvm:1\n" + lines + "\n"}); err != nil {
			t.Fatal(err)
		}
		shown := func(what, path string) {
			t.Helper()
			if got := c.ok("GET", path+"/config").body; !strings.Contains(got, pairs) {
				t.Errorf("got %s %s, want %s in it", got, what, pairs)
			}
		}
		shown("at first", ct200)
		if got := c.ok("GET", ct200+"/pending").body; strings.Contains(got, "lxc") {
			t.Errorf("got %s, want no line of LXC among the pending values", got)
		}
		c.ok("PUT", ct200+"/config", "memory=96")
		shown("after a write", ct200)
		c.task("POST", ct200+"/snapshot", "snapname=kept")
		c.ok("PUT", ct200+"/config", "memory=128")
		c.task("POST", ct200+"/snapshot/kept/rollback")
		shown("after a rollback", ct200)
		c.task("POST", ct200+"/clone", "newid=201", "full=1", "snapname=kept")
		shown("of the clone", "/nodes/pve1/lxc/201")
		if !strings.Contains(c.sim.Config(200), "\n"+lines+"\n") {
			t.Errorf("got the file %q, want %q in it", c.sim.Config(200), lines)
		}
		const unknown = "property is not defined in schema and the schema does not allow additional properties"
		for _, key := range []string{"lxc", "lxc.cap.drop"} {
			if got := c.call("PUT", ct200+"/config", key+"=x"); got.status != 400 || !strings.Contains(got.body, unknown) {
				t.Errorf("got %d %s for a call that sets %s, want it refused", got.status, got.body, key)
			}
		}

		archive := newestBackup(t, c, "200")
		if got := c.task("POST", "/nodes/pve1/lxc", "vmid=200", "ostemplate="+archive, "restore=1", "storage=local-lvm", "force=1"); got != "WARNINGS: 1" {
			t.Errorf("got %q of the restore, want a warning", got)
		}
		if got := c.ok("GET", ct200+"/config").body; strings.Contains(got, "lxc") || strings.Contains(c.sim.Config(200), "[kept]") {
			t.Errorf("got %s and the file %q, want neither lines of LXC nor a snapshot", got, c.sim.Config(200))
		}
		c.task("POST", ct200+"/status/start")
		over := []string{"vmid=200", "ostemplate=" + archive, "restore=1", "storage=local-lvm", "force=1"}
		checkReply(t, "restore over a running container", c.call("POST", "/nodes/pve1/lxc", over...), 500, "can't overwrite running container")
		c.task("POST", ct200+"/status/stop")
		c.ok("PUT", ct200+"/config", "protection=1")
		checkReply(t, "restore over a protected one", c.call("POST", "/nodes/pve1/lxc", over...), 500, "unable to restore CT 200 - protection mode enabled")
	})
}

// TestStartWithMissingHookScript holds that a guest whose hook script was deleted does not start.
func TestStartWithMissingHookScript(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "memory: 64\nhookscript: local:snippets/h.pl\n")
		if _, err := c.sim.AddCT(Guest{VMID: 200, Config: "memory: 64\nrootfs: local-lvm:1\nhookscript: local:snippets/h.pl\n"}); err != nil {
			t.Fatal(err)
		}
		for _, guest := range []string{vm100, ct200} {
			if got, want := c.task("POST", guest+"/status/start"), "script 'local:snippets/h.pl' does not exist"; got != want {
				t.Errorf("got %q of %s, want %q", got, guest, want)
			}
		}
	})
}
