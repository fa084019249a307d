package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/reason"
)

// TestStorageWithoutTheSpace wants a disk that does not fit on its storage, of a new machine and of one whose disk grows. No task is started: the step is held with both figures, and is
// made when the manifest says less. A storage that takes only what is written holds the same disks.
func TestStorageWithoutTheSpace(t *testing.T) {
	t.Parallel()
	const gib = int64(1) << 30
	for _, exists := range []bool{false, true} {
		t.Run(map[bool]string{true: "grows", false: "new"}[exists], func(t *testing.T) {
			storages := []pvesim.Storage{
				{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,iso,backup,snippets,import,vztmpl", Size: 100 * gib},
				{ID: "san", Type: "lvm", Content: "images,rootdir", Size: 10 * gib, Thick: true},
				{ID: "thin", Type: "lvmthin", Content: "images,rootdir", Size: 100 * gib},
			}
			runLabOn(t, pvesim.Options{Storages: storages}, func(t *testing.T, l *lab) {
				vm := func(size string) string {
					return strings.Replace(vmYAML("web-1", 201, "disks: {scsi0: {storage: san, size: "+size+"}, scsi1: {storage: thin, size: 200Gi}}"), "{clone: {name: tmpl-debian-12}}", "{blank: {}}", 1)
				}
				if exists {
					l.files["web.yaml"] = vm("2Gi")
					l.push("one guest", alice)
					stop := l.start()
					l.converge()
					stop()
				}
				l.files["web.yaml"] = vm("16Gi")
				l.push("more than there is", alice)
				defer l.start()()
				eventually(l, "the hold", func() bool {
					for _, g := range l.engine.Report().Guests {
						for _, h := range g.Held {
							if h.Reason == reason.Impossible && strings.Contains(h.Message, "the storage san has ") && strings.Contains(h.Message, "left on pve1") {
								return true
							}
						}
					}
					return false
				})
				before := l.sim.Counters().Writes
				time.Sleep(10 * time.Minute)
				if got := l.sim.Counters().Writes - before; got != 0 {
					t.Errorf("got %d writes, want none", got)
				}
				l.cure(reason.FreeStorage, l.saysOf("VirtualMachine/web-1"), func([]string) {
					l.files["web.yaml"] = vm("4Gi")
					l.push("less", alice)
				})
				l.converge()
				if got := l.sim.Value(201, "scsi0"); !strings.Contains(got, "size=4G") {
					t.Errorf("got scsi0 %s, want 4 GiB", got)
				}
			})
		})
	}
}
