package pvesim

import (
	"strings"
	"testing"
)

// TestHostDriveNeedsConsole attaches the drive of the host, which only a caller with Sys.Console may use.
func TestHostDriveNeedsConsole(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		agent := c.as("gitops@pve!agent")
		checkReply(t, "write", agent.call("PUT", vm100+"/config", "ide2=cdrom"), 403, "Permission check failed (/, Sys.Console)")
		checkReply(t, "create", agent.call("POST", "/nodes/pve1/qemu", "vmid=101", "ide3=cdrom"), 403, "Permission check failed (/, Sys.Console)")
		c.ok("PUT", vm100+"/config", "ide2=cdrom")
	})
}

// TestMoveToTheSameStorage moves the root of a container to the storage on which it is.
func TestMoveToTheSameStorage(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		if _, err := c.sim.AddCT(Guest{VMID: 200, Config: "rootfs: local-lvm:1\n"}); err != nil {
			t.Fatal(err)
		}
		if got := c.task("POST", "/nodes/pve1/lxc/200/move_volume", "volume=rootfs", "storage=local-lvm"); got != "OK" {
			t.Errorf("move: got %s, want OK", got)
		}
		if root, unused := c.sim.Value(200, "rootfs"), c.sim.Value(200, "unused0"); root != "local-lvm:vm-200-disk-1,size=1G" || unused != "local-lvm:vm-200-disk-0" {
			t.Errorf("got root %q and unused volume %q, want a new volume and the old one unused", root, unused)
		}
	})
}

func TestMissingMountPoint(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		if _, err := c.sim.AddCT(Guest{VMID: 200}); err != nil {
			t.Fatal(err)
		}
		const want = `"errors":{"mp":"property is missing and it is not optional","volume":"property is missing and it is not optional"}`
		for what, got := range map[string]answer{
			"resize": c.call("PUT", "/nodes/pve1/lxc/200/resize", "disk=mp9", "size=+1G"),
			"move":   c.call("POST", "/nodes/pve1/lxc/200/move_volume", "volume=mp9", "storage=local"),
		} {
			checkReply(t, what, got, 500, "format error")
			if !strings.Contains(got.body, want) {
				t.Errorf("%s: got %s, want it with %s", what, got.body, want)
			}
		}
	})
}

// TestOrderOfChecks has calls with two faults. Proxmox names one of them.
func TestOrderOfChecks(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "template: 1\n")
		addVM(t, c.sim, 101, "")
		for id := 200; id < 202; id++ {
			if _, err := c.sim.AddCT(Guest{VMID: id}); err != nil {
				t.Fatal(err)
			}
		}
		checkReply(t, "linked clone with a storage", c.call("POST", vm100+"/clone", "newid=101", "storage=local"), 500, "parameter 'storage' not allowed for linked clones")
		checkReply(t, "clone of a container to a vmid that is taken", c.call("POST", "/nodes/pve1/lxc/200/clone", "newid=201", "full=1"), 500, "CT 201 already exists on node 'pve1'")
		checkReply(t, "clone of a container to the vmid of a VM", c.call("POST", "/nodes/pve1/lxc/200/clone", "newid=101", "full=1"), 500, "VM 101 already exists on node 'pve1'")
		checkReply(t, "pool", c.call("PUT", "/pools", "poolid=nosuch", "vms=1"), 400, "Parameter verification failed.")
	})
}

func TestResizeOfAnEmptyDrive(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "ide2: none,media=cdrom\n")
		if got := c.task("PUT", vm100+"/resize", "disk=ide2", "size=+1G"); got != "unable to parse volume ID 'none'" {
			t.Errorf("got %s, want unable to parse volume ID 'none'", got)
		}
	})
}

func TestNewDiskOfATemplateIsABase(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		if _, err := c.sim.AddTemplate(Guest{VMID: 100, Config: "scsi0: local:1\n"}); err != nil {
			t.Fatal(err)
		}
		c.ok("PUT", vm100+"/config", "scsi1=local:1")
		if got, want := c.config(100)["scsi1"], "local:100/base-100-disk-1.raw,size=1G"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestRootWithoutALimitIsADirectory(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		if err := c.sim.AddVolume("local:vztmpl/alpine.tar.gz", 1<<20); err != nil {
			t.Fatal(err)
		}
		if got := c.task("POST", "/nodes/pve1/lxc", "vmid=200", "ostemplate=local:vztmpl/alpine.tar.gz", "rootfs=local:0"); got != "OK" {
			t.Fatalf("create: got %s, want OK", got)
		}
		if got, want := c.sim.Value(200, "rootfs"), "local:200/subvol-200-disk-0.subvol,size=0T"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestKeysAreWhole creates a container with a key that was cut between two of its fields.
func TestKeysAreWhole(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		const cut = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB"
		checkReply(t, "container", c.call("POST", "/nodes/pve1/lxc", "vmid=200", "ostemplate=local:vztmpl/a.tar.gz", "ssh-public-keys="+cut), 500, "SSH public key validation error")
		addVM(t, c.sim, 100, "")
		checkReply(t, "virtual machine", c.call("PUT", vm100+"/config", "sshkeys="+strings.ReplaceAll(cut, " ", "%20")), 500, "SSH public key validation error")
	})
}

// TestErrorAfterTheChangeWasStored writes a config that is stored although the reply is an error.
func TestErrorAfterTheChangeWasStored(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		if _, err := c.sim.AddCT(Guest{VMID: 200}); err != nil {
			t.Fatal(err)
		}
		inject(t, c.sim, Fault{Kind: ErrorText, AfterActing: true, Method: "PUT", Path: "/lxc/200/config$", Text: "Device /dev/null does not exist"})
		checkReply(t, "write", c.call("PUT", "/nodes/pve1/lxc/200/config", "cores=2"), 500, "Device /dev/null does not exist")
		if got := c.sim.Value(200, "cores"); got != "2" {
			t.Errorf("cores: got %q, want 2", got)
		}
	})
}

// TestProtectedBackup protects a backup, fails to remove it, lifts the protection and removes it.
func TestProtectedBackup(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "")
		if got := c.task("POST", "/nodes/pve1/vzdump", "vmid=100", "storage=local", "protected=1"); got != "OK" {
			t.Fatalf("backup: got %s, want OK", got)
		}
		volume := c.sim.volumesOf(100)[0].ID
		path, name := "/nodes/pve1/storage/local/content/"+volume, strings.TrimPrefix(volume, "local:")
		if got, want := c.task("DELETE", path), "cannot remove protected volume '"+name+"' on 'local'"; got != want {
			t.Errorf("removal of a protected backup: got %s, want %s", got, want)
		}
		c.ok("PUT", path, "protected=0", "notes=first line\nsecond line")
		if body := c.ok("GET", "/nodes/pve1/storage/local/content", "content=backup").body; !strings.Contains(body, `"notes":"first line"`) || strings.Contains(body, "protected") {
			t.Errorf("list: got %s, want the first line of the notes and no protection", body)
		}
		if got := c.task("DELETE", path); got != "OK" || c.sim.volume(volume) != nil {
			t.Errorf("removal: got %s, want OK and the backup gone", got)
		}
	})
}
