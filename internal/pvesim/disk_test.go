package pvesim

import (
	"strings"
	"testing"
)

func TestImport(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		if err := c.sim.AddVolume("local:import/img.qcow2", 3*gib); err != nil {
			t.Fatal(err)
		}
		agent := c.as("gitops@pve!agent")
		if got := agent.task("POST", "/nodes/pve1/qemu", "vmid=100", "scsi0=local-lvm:0,import-from=local:import/img.qcow2",
			"scsi1=local:0,import-from=local:import/img.qcow2"); got != "OK" {
			t.Fatalf("create: got %s, want OK", got)
		}
		conf := c.config(100)
		if conf["scsi0"] != "local-lvm:vm-100-disk-0,size=3G" || conf["scsi1"] != "local:100/vm-100-disk-0.qcow2,size=3G" {
			t.Errorf("imported: got %v, want the image's size on both storages", conf)
		}
		want := "unable to create VM 101 - failed to stat '/var/lib/vz/import/nosuch.qcow2'"
		if got := agent.task("POST", "/nodes/pve1/qemu", "vmid=101", "scsi0=local:0,import-from=local:import/nosuch.qcow2"); got != want {
			t.Errorf("missing image: got %s, want %s", got, want)
		}
		checkReply(t, "unknown storage", agent.call("POST", "/nodes/pve1/qemu", "vmid=102", "scsi0=local:0,import-from=nosuch:import/x.qcow2"), 500,
			"storage 'nosuch' does not exist")
		checkReply(t, "a path", c.call("POST", "/nodes/pve1/qemu", "vmid=102", "scsi0=local:0,import-from=/root/x.qcow2"), 500,
			"Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651.")
	})
}

// TestImportNeedsTheFileOnTheNode downloads a file to one of two nodes: an import on the other one fails, unless they share the storage.
func TestImportNeedsTheFileOnTheNode(t *testing.T) {
	for _, shared := range []bool{false, true} {
		storages := []Storage{{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,import", Shared: shared}}
		bubble(t, Options{Nodes: []string{"pve1", "pve2"}, Storages: storages}, func(t *testing.T, c *client) {
			c.sim.Publish("https://images.example/img.qcow2", WebFile{Size: mib, Format: "qcow2", VirtualSize: gib})
			if got := c.task("POST", "/nodes/pve1/storage/local/download-url", "content=import", "filename=img.qcow2", "url=https://images.example/img.qcow2"); got != "OK" {
				t.Fatalf("download: got %s, want OK", got)
			}
			for i, node := range []string{"pve1", "pve2"} {
				want := "OK"
				if node == "pve2" && !shared {
					want = "unable to create VM 101 - failed to stat '/var/lib/vz/import/img.qcow2'"
				}
				if got := c.task("POST", "/nodes/"+node+"/qemu", "vmid="+itoa(100+i), "scsi0=local:0,import-from=local:import/img.qcow2"); got != want {
					t.Errorf("shared %t, create on %s: got %s, want %s", shared, node, got, want)
				}
			}
		})
	}
}

func TestMoveDisk(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "scsi0: local-lvm:2,discard=on\n")
		if got := c.task("POST", vm100+"/move_disk", "disk=scsi0", "storage=local", "format=qcow2"); got != "OK" {
			t.Fatalf("move: got %s, want OK", got)
		}
		conf := c.config(100)
		if conf["scsi0"] != "local:100/vm-100-disk-0.qcow2,discard=on,size=2G" || conf["unused0"] != "local-lvm:vm-100-disk-0" {
			t.Errorf("moved: got %v, want the source kept as unused0", conf)
		}
		if got := c.task("POST", vm100+"/move_disk", "disk=scsi0", "storage=local2", "delete=1"); got != "OK" {
			t.Fatalf("move with delete: got %s, want OK", got)
		}
		if c.sim.volume("local:100/vm-100-disk-0.qcow2") != nil || c.sim.Value(100, "unused1") != "" {
			t.Error("source after a move with delete: got it kept, want it freed")
		}
		checkReply(t, "to the same storage", c.call("POST", vm100+"/move_disk", "disk=scsi0", "storage=local2"), 500,
			"you can't move to the same storage with same format")
	})
}

func TestReassignDisk(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "scsi0: local-lvm:2\nscsi1: local-lvm:4,discard=on\nunused0: local-lvm:vm-100-disk-9\n")
		addVM(t, c.sim, 101, "scsi0: local-lvm:2\n")
		if err := c.sim.AddVolume("local-lvm:vm-100-disk-9", 1<<30); err != nil {
			t.Fatal(err)
		}
		if got := c.task("POST", vm100+"/move_disk", "disk=scsi1", "target-vmid=101", "target-disk=scsi5"); got != "OK" {
			t.Fatalf("reassign: got %s, want OK", got)
		}
		if got := c.sim.Value(101, "scsi5"); got != "local-lvm:vm-101-disk-1,discard=on,size=4G" || c.sim.Value(100, "scsi1") != "" || c.sim.Value(100, "unused1") != "" {
			t.Errorf("reassigned: got %q and %s, want the renamed volume with its new owner alone", got, c.sim.Config(100))
		}
		if got := c.task("POST", vm100+"/move_disk", "disk=unused0", "target-vmid=101"); got != "OK" || c.sim.Value(101, "unused0") != "local-lvm:vm-101-disk-2" {
			t.Errorf("an unused volume: got %s and %q, want it unused with its new owner", got, c.sim.Config(101))
		}
		for form, want := range map[string]string{
			"disk=scsi0 target-vmid=100":                   "Moving a disk to the same VM is not possible. Did you mean to move the disk to a different storage?",
			"disk=scsi7 target-vmid=101":                   "Disk 'scsi7' for VM '100' does not exist",
			"disk=scsi0 target-vmid=101":                   "Target disk key 'scsi0' is already in use for VM '101'",
			"disk=scsi0 target-vmid=101 target-disk=scsi5": "Target disk key 'scsi5' is already in use for VM '101'",
		} {
			checkReply(t, form, c.call("POST", vm100+"/move_disk", strings.Fields(form)...), 500, want)
		}
	})
}

func TestSnapshots(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "#first\ncores: 1\nscsi0: local-lvm:2\n")
		for _, s := range []string{"s1", "s2"} {
			if got := c.task("POST", vm100+"/snapshot", "snapname="+s, "description=of "+s); got != "OK" {
				t.Fatalf("snapshot %s: got %s, want OK", s, got)
			}
		}
		genid := c.sim.Value(100, "vmgenid")
		c.ok("PUT", vm100+"/config", "cores=4", "description=later", "scsi1=local-lvm:1")
		c.task("PUT", vm100+"/resize", "disk=scsi0", "size=5G")
		if got := c.task("POST", vm100+"/snapshot/s1/rollback"); got != "OK" {
			t.Fatalf("rollback: got %s, want OK", got)
		}
		conf := c.config(100)
		if conf["cores"] != "1" || conf["description"] != "later" || conf["parent"] != "s1" || conf["unused0"] != "local-lvm:vm-100-disk-1" ||
			conf["vmgenid"] == genid || conf["scsi0"] != "local-lvm:vm-100-disk-0,size=2G" {
			t.Errorf("rolled back: got %v, want the snapshot's values, the newer description and the newer disk unused", conf)
		}
		if got := c.task("DELETE", vm100+"/snapshot/s1"); got != "OK" {
			t.Fatalf("delete: got %s, want OK", got)
		}
		body := c.ok("GET", vm100+"/snapshot").body
		if strings.Contains(body, `"name":"s1"`) || strings.Contains(body, `"parent"`) || !strings.Contains(body, `"name":"s2"`) {
			t.Errorf("list: got %s, want s2 without a parent", body)
		}
		addVM(t, c.sim, 101, "scsi0: local:1\n")
		if got, want := c.task("POST", "/nodes/pve1/qemu/101/snapshot", "snapname=s1"), "snapshot feature is not available"; got != want {
			t.Errorf("snapshot of a raw file: got %s, want %s", got, want)
		}
	})
}

func TestLiveDriveKeys(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addRunningVM(t, c.sim, 100, "scsi0: local-lvm:2\nsata0: local-lvm:1\nide2: none,media=cdrom\n")
		const vol = "local-lvm:vm-100-disk-1" // sata0 was created first
		for value, live := range map[string]bool{
			"scsi0=" + vol + ",backup=0": true, "scsi0=" + vol + ",iops_rd=100": true, "scsi0=" + vol + ",discard=on": false,
			"scsi0=" + vol + ",iothread=1": false, "sata1=local-lvm:1": false, "virtio3=local-lvm:1": true, "hotplug=network": true,
		} {
			key, _, _ := strings.Cut(value, "=")
			c.ok("PUT", vm100+"/config", value)
			_, pending, _ := strings.Cut(c.sim.Config(100), "[PENDING]")
			if got := !strings.Contains(pending, key+": "); got != live {
				t.Errorf("%s: got applied %v, want %v", value, got, live)
			}
			c.ok("PUT", vm100+"/config", "revert="+key)
			c.ok("PUT", vm100+"/config", "hotplug=1")
		}
	})
}
