package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/pvesim"
)

// TestIncidentFailedShrinkDetachesADisk sets a size smaller than the present disk. The disk stays, the guest is in sync, and the rest of the manifest is applied.
func TestIncidentFailedShrinkDetachesADisk(t *testing.T) {
	t.Parallel()
	web := func(state, size string, more ...string) string {
		return vmYAML("web-1", 201, append(more, "disks: {scsi0: {size: 3Gi}, scsi1: {storage: local-lvm, size: "+size+"}}", "state: "+state)...)
	}
	dns := func(size string, more ...string) string {
		return strings.Replace(dnsYAML(append(more, "mounts: {mp0: {storage: local, size: 3Gi, path: /data}}")...), "size: 4Gi", "size: "+size, 1)
	}
	tests := map[string]struct {
		vmid          int
		key           string
		before, after string
	}{
		"stopped":     {201, "scsi1", web("stopped", "4Gi"), web("stopped", "2Gi", "memory: {size: 2Gi}")},
		"running":     {201, "scsi1", web("running", "4Gi"), web("running", "2Gi", "startup: {onBoot: true}")},
		"root_volume": {210, "rootfs", dns("4Gi"), dns("2Gi", "memory: {size: 2Gi}")},
		"mount_point": {210, "mp0", dns("4Gi"), strings.Replace(dns("4Gi", "memory: {size: 2Gi}"), "size: 3Gi, path", "size: 1Gi, path", 1)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.sim.Guard()
				l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Role: "Administrator"}})
				l.files["guest.yaml"] = test.before
				l.push("a disk", alice)
				defer l.start()()
				l.converge()
				volumes, disk, running := l.volumesOf(test.vmid), l.sim.Value(test.vmid, test.key), l.sim.Running(test.vmid)
				l.files["guest.yaml"] = test.after
				l.push("less of it", alice)
				eventually(l, "the other change", func() bool {
					return l.sim.Value(test.vmid, "memory") == "2048" || l.sim.Value(test.vmid, "onboot") == "1"
				})
				l.converge()
				w.wantNoWrites(t)
				if got := l.sim.Value(test.vmid, test.key); got != disk {
					t.Errorf("got %s: %s, want %s", test.key, got, disk)
				}
				if diff := cmp.Diff(volumes, l.volumesOf(test.vmid)); diff != "" {
					t.Errorf("volumes differ (-want +got):\n%s", diff)
				}
				if config := l.sim.Config(test.vmid); strings.Contains(config, "unused") || l.sim.Running(test.vmid) != running {
					t.Errorf("got config %q, running %t, want nothing detached and nothing stopped", config, l.sim.Running(test.vmid))
				}
				if v := l.sim.Violations(); len(v) != 0 {
					t.Errorf("got violations %v, want none", v)
				}
			})
		})
	}
}

// lostReplies are the ways to lose the reply to a call that took effect.
var lostReplies = map[string]pvesim.Fault{
	"dropped":   {Kind: pvesim.DropAfter},
	"596":       {Kind: pvesim.ProxyStatus, Status: 596, AfterActing: true},
	"599":       {Kind: pvesim.ProxyStatus, Status: 599, AfterActing: true},
	"garbage":   {Kind: pvesim.InvalidJSON},
	"truncated": {Kind: pvesim.TruncatedBody},
}

// TestIncidentSlotIsAllocatedTwice adds a disk, loses replies, and changes its options and its size. The agent sends allocation syntax to a slot
// once, because a second time would create a second volume and detach the first one.
func TestIncidentSlotIsAllocatedTwice(t *testing.T) {
	t.Parallel()
	web := func(disk string) string {
		return vmYAML("web-1", 201, "firmware: {bios: ovmf, efi: {storage: local}, tpm: {storage: local, version: v2.0}}",
			"cloudInit: {storage: local, user: ops}", "disks: {scsi1: {storage: local, "+disk+"}}")
	}
	dns := func(mount string) string {
		return dnsYAML("mounts: {mp0: {storage: local, path: /data, " + mount + "}}")
	}
	guests := map[string]struct {
		vmid                   int
		key                    string
		before, options, grown string
		volumes                int
	}{
		"vm": {201, "scsi1", web("size: 4Gi"), web("size: 4Gi, discard: true"), web("size: 6Gi, discard: true"), 5},
		"ct": {210, "mp0", dns("size: 4Gi"), dns("size: 4Gi, backup: true"), dns("size: 6Gi, backup: true"), 2},
	}
	for kind, test := range guests {
		for name, fault := range lostReplies {
			t.Run(kind+"/"+name, func(t *testing.T) {
				runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
					l.sim.Guard()
					l.files["guest.yaml"] = vmYAML("web-1", 201)
					if test.vmid == 210 {
						l.files["guest.yaml"] = dnsYAML()
					}
					l.push("one guest", alice)
					defer l.start()()
					l.converge()
					fault.Path = fmt.Sprintf("/%d/(config|resize)$", test.vmid)
					for _, manifest := range []string{test.before, test.options, test.grown} {
						l.ok(l.sim.Inject(fault))
						l.files["guest.yaml"] = manifest
						l.push("next", alice)
						l.converge()
						if got := l.volumesOf(test.vmid); len(got) != test.volumes {
							t.Errorf("got volumes %v, want %d of them", got, test.volumes)
						}
						l.sim.ClearFaults()
					}
					w.wantNoWrites(t)
					if config := l.sim.Config(test.vmid); strings.Contains(config, "unused") || !strings.Contains(l.sim.Value(test.vmid, test.key), "size=6G") {
						t.Errorf("got config %q, want %s grown to 6G, and no unused volume", config, test.key)
					}
					if v := l.sim.Violations(); len(v) != 0 {
						t.Errorf("got violations %v, want none", v)
					}
				})
			})
		}
	}
}

// TestIncidentRootVolumeIsRewrittenAsText changes everything about a container's root volume that a manifest can change. Proxmox stores the text of
// a config call without creating, growing or moving a volume, so no config call may contain another volume or another size.
func TestIncidentRootVolumeIsRewrittenAsText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ rootfs, want string }{
		"larger":            {"{storage: local, size: 6Gi}", "size=6G"},
		"smaller":           {"{storage: local, size: 2Gi}", "local:210/"},
		"another_storage":   {"{storage: local2, size: 4Gi}", "local2:210/"},
		"other_options":     {"{storage: local, size: 4Gi, options: [noatime]}", "mountoptions=noatime"},
		"larger_by_options": {"{storage: local, size: 6Gi, options: [noatime]}", "mountoptions=noatime"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.sim.Guard()
				l.files["dns.yaml"] = dnsYAML()
				l.push("one container", alice)
				defer l.start()()
				l.converge()
				l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/move_volume$", Kind: pvesim.DropAfter}))
				l.files["dns.yaml"] = strings.Replace(dnsYAML(), "{storage: local, size: 4Gi}", test.rootfs, 1)
				l.waitForAcceptance(l.push("another root volume", alice))
				eventually(l, test.want, func() bool { return strings.Contains(l.sim.Value(210, "rootfs"), test.want) })
				time.Sleep(10 * time.Minute)
				rootfs := l.sim.Value(210, "rootfs")
				volume, options, _ := strings.Cut(rootfs, ",")
				for _, s := range w.writes("/lxc/210/config") {
					if text := s.params["rootfs"]; text != "" && !strings.HasPrefix(text, "local:210/") || strings.Contains(s.params["delete"], "rootfs") {
						t.Errorf("got rootfs %q written and %q deleted, want no other volume named", text, s.params["delete"])
					}
				}
				for _, v := range l.sim.Volumes() {
					if size := fmt.Sprintf("size=%dG", v.Size>>30); v.ID == volume && !strings.Contains(options, size) {
						t.Errorf("got rootfs %q of a volume with %s, want the same size in both", rootfs, size)
					}
				}
				l.ok(l.sim.SetRunning(210, true))
				w.wantNoWrites(t)
			})
		})
	}
}
