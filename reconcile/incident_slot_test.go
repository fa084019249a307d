package reconcile_test

import (
	"strings"
	"testing"
	"time"
)

// TestIncidentApprovedDetachTakesAnotherDisk approves to empty a slot that has another disk by then. The approval was for the first disk, and
// releases nothing.
func TestIncidentApprovedDetachTakesAnotherDisk(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "disks: {scsi1: {storage: local-lvm, size: 4Gi}}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "disks: {scsi1: {absent: true}}")
		l.waitForAcceptance(l.push("detach", alice))
		before := l.digestOfHold(201)
		l.ok(l.sim.AddVolume("local-lvm:vm-201-disk-7", 7<<30))
		l.ok(l.sim.EditConfig(201, func(keys map[string]string) {
			keys["scsi1"], keys["scsi2"] = "local-lvm:vm-201-disk-7,size=7G", keys["scsi1"]
		}))
		eventually(t, "another digest", func() bool {
			g := l.guest(l.engine.Report(), 201)
			return len(g.Held) > 0 && g.Held[0].Digest != before
		})
		l.approve(before)
		time.Sleep(10 * time.Minute)
		if got := l.sim.Value(201, "scsi1"); !strings.Contains(got, "size=7G") {
			t.Errorf("got scsi1 %q, want the other disk, which has no approval to be detached", got)
		}
		l.approve(l.digestOfHold(201))
		eventually(t, "the approved detach", func() bool { return l.sim.Value(201, "scsi1") == "" })
	})
}
