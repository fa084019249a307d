package reconcile_test

import (
	"strings"
	"testing"

	"gitops-agent/internal/pvesim"
)

// TestIncidentResizeIsUndoneByTheNextStart grows a disk of a running guest and changes an option of the disk that is pending until a restart. The
// pending text contains a size of its own, and the restart writes it into the configuration. The agent grows the disk once, the text has the right
// size after the restart, and also after another client's restart restored a smaller size.
func TestIncidentResizeIsUndoneByTheNextStart(t *testing.T) {
	t.Parallel()
	web := func(disk string) string {
		return vmYAML("web-1", 201, "disks: {scsi0: {"+disk+"}}", "state: running", "lifecycle: {rebootPolicy: auto}")
	}
	dns := func(size, options string) string {
		manifest := dnsYAML("state: running", "lifecycle: {rebootPolicy: auto}")
		return strings.Replace(manifest, "size: 4Gi", "size: "+size+options, 1)
	}
	tests := map[string]struct {
		vmid          int
		key, option   string
		before, after string
	}{
		"vm": {201, "scsi0", "discard=on", web("size: 4Gi"), web("size: 6Gi, discard: true")},
		"ct": {210, "rootfs", "mountoptions=noatime", dns("4Gi", ""), dns("6Gi", ", options: [noatime]")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.files["guest.yaml"] = test.before
				l.push("a disk", alice)
				defer l.start()()
				l.converge()
				starts, resized := l.sim.Effects(test.vmid, pvesim.Started), l.sim.Effects(test.vmid, pvesim.Resized)
				l.files["guest.yaml"] = test.after
				l.push("a larger one", alice)
				l.converge()
				grown := l.sim.Value(test.vmid, test.key)
				if !strings.Contains(grown, "size=6G") || !strings.Contains(grown, test.option) {
					t.Errorf("got %s: %s, want 6G and %s", test.key, grown, test.option)
				}
				if got := l.sim.Effects(test.vmid, pvesim.Resized) - resized; got != 1 {
					t.Errorf("got %d resizes, want 1", got)
				}
				if got := l.sim.Effects(test.vmid, pvesim.Started) - starts; got != 1 {
					t.Errorf("got %d starts, want 1", got)
				}
				w.wantNoWrites(t)

				l.ok(l.sim.Edit(test.vmid, test.key, strings.Replace(grown, "size=6G", "size=4G", 1))) // as another client's restart restores it
				eventually(l, "the size that the volume has", func() bool { return strings.Contains(l.sim.Config(test.vmid), "size=6G") })
				l.converge()
				if got := l.sim.Effects(test.vmid, pvesim.Resized) - resized; got != 1 {
					t.Errorf("after the old text was restored: got %d resizes, want one", got)
				}
				w.wantNoWrites(t)
			})
		})
	}
}
