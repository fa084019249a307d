package pvesim

import (
	"strings"
	"testing"
)

func TestFullStorage(t *testing.T) {
	const thin = "lvcreate 'pve/vm-%-disk-1' error:   Cannot create new thin volume, free space in thin pool pve/data reached threshold."
	tests := map[string]struct {
		method, path string
		params       []string
		want         string // exit status or reason
	}{
		"create":  {"POST", "/nodes/pve1/qemu", []string{"vmid=101", "scsi0=local-lvm:1"}, "unable to create VM 101 - " + strings.ReplaceAll(strings.Replace(thin, "%", "101", 1), "disk-1", "disk-0")},
		"clone":   {"POST", vm100 + "/clone", []string{"newid=101", "full=1"}, "clone failed: " + strings.ReplaceAll(strings.Replace(thin, "%", "101", 1), "disk-1", "disk-0")},
		"config":  {"PUT", vm100 + "/config", []string{"scsi1=local-lvm:1"}, strings.Replace(thin, "%", "100", 1)},
		"resize":  {"PUT", vm100 + "/resize", []string{"disk=scsi0", "size=+1G"}, strings.Replace(thin, "%", "100", 1)},
		"move":    {"POST", vm100 + "/move_disk", []string{"disk=scsi2", "storage=local-lvm"}, strings.Replace(thin, "%", "100", 1)},
		"vmstate": {"POST", vm100 + "/snapshot", []string{"snapname=s1", "vmstate=1"}, strings.Replace(thin, "%", "100", 1)},
		"ct":      {"POST", "/nodes/pve1/lxc/200/move_volume", []string{"volume=rootfs", "storage=local-lvm"}, strings.ReplaceAll(strings.Replace(thin, "%", "200", 1), "disk-1", "disk-0")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, c *client) {
				addRunningVM(t, c.sim, 100, "scsi0: local-lvm:1\nscsi2: local:1,format=qcow2\n")
				if _, err := c.sim.AddCT(Guest{VMID: 200, Config: "rootfs: local:1\n"}); err != nil {
					t.Fatal(err)
				}
				before := len(c.sim.Volumes())
				c.sim.FillStorage("local-lvm")
				got := c.call(tt.method, tt.path, tt.params...)
				exit := got.reason
				if got.status == 200 {
					exit = c.wait(strings.Trim(string(got.data(t)), `"`))
				}
				if exit != tt.want {
					t.Errorf("got %q, want %q", exit, tt.want)
				}
				if n := len(c.sim.Volumes()); n != before || c.sim.Config(101) != "" {
					t.Errorf("afterwards: got %d volumes and config %q, want %d and none", n, c.sim.Config(101), before)
				}
				if f := c.ok("GET", "/nodes/pve1/storage/local-lvm/status").fields(t); f["avail"] != "0" {
					t.Errorf("room shown: got %s, want 0", f["avail"])
				}
				c.sim.DrainStorage("local-lvm")
				c.ok("PUT", vm100+"/config", "scsi3=local-lvm:1")
			})
		})
	}
}

func TestThickStorageHoldsItsSize(t *testing.T) {
	bubble(t, Options{Storages: []Storage{{ID: "local", Type: "dir", Path: "/x", Content: "images,rootdir,backup", Size: 5 * gib, Thick: true}}}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "scsi0: local:3\n")
		c.ok("PUT", vm100+"/config", "scsi1=local:2")
		checkReply(t, "more than fits", c.call("PUT", vm100+"/config", "scsi2=local:1"), 500,
			"unable to create image: qemu-img: /x/images/100/vm-100-disk-2.raw: Could not resize file: No space left on device")
		c.ok("PUT", vm100+"/config", "delete=scsi1", "force=1")
		c.ok("PUT", vm100+"/config", "scsi2=local:1")
	})
}

func TestBackupOnAFullStorage(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *client) {
		addVM(t, c.sim, 100, "scsi0: local-lvm:1\n")
		c.sim.FillStorage("local")
		upid := strings.Trim(string(c.ok("POST", "/nodes/pve1/vzdump", "vmid=100", "storage=local").data(t)), `"`)
		if got := c.waitAndSay(upid); !strings.Contains(got, "job errors") || !strings.Contains(got, "write error") {
			t.Errorf("backup: got %s, want a write error", got)
		}
		if got := c.sim.Value(100, "lock"); got != "" {
			t.Errorf("lock afterwards: got %s, want none", got)
		}
	})
}
