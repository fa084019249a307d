package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"gitops-agent/internal/pvesim"
)

// TestEngineFillsASlotAfterALostCall loses calls that add a disk before Proxmox executes them. The agent finds out that they had no effect, and adds
// the disk without an approval.
func TestEngineFillsASlotAfterALostCall(t *testing.T) {
	faults := map[string]pvesim.Fault{
		"dropped": {Kind: pvesim.DropBefore},
		"596":     {Kind: pvesim.ProxyStatus, Status: 596},
		"503":     {Kind: pvesim.ProxyStatus, Status: 503},
	}
	guests := map[string]struct {
		vmid          int
		before, after string
		slot          string
	}{
		"vm": {201, vmYAML("web-1", 201), vmYAML("web-1", 201, "disks: {scsi1: {storage: local-lvm, size: 4Gi}}"), "scsi1"},
		"ct": {210, dnsYAML(), withMount(), "mp0"},
	}
	for kind, test := range guests {
		for name, fault := range faults {
			t.Run(kind+"/"+name, func(t *testing.T) {
				runLab(t, nil, func(t *testing.T, l *lab) {
					l.files["guest.yaml"] = test.before
					l.push("one guest", alice)
					defer l.start()()
					l.converge()
					fault.Path = fmt.Sprintf("/%d/config$", test.vmid)
					l.ok(l.sim.Inject(fault))
					l.files["guest.yaml"] = test.after
					l.push("a disk", alice)
					l.converge()
					if got := l.volume(test.vmid, test.slot); got == "" || strings.Contains(l.sim.Config(test.vmid), "unused") {
						t.Errorf("got %s, want one volume in %s", l.sim.Config(test.vmid), test.slot)
					}
				})
			})
		}
	}
}
