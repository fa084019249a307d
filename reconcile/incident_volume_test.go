package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestIncidentDestroyRemovesADiskOfAnotherGuest removes the manifest of a guest whose former disk another guest uses by then. The volume still has
// the first guest's vmid in its name, so Proxmox would remove it with the first guest. The agent destroys the first guest when no other guest names
// the volume.
func TestIncidentDestroyRemovesADiskOfAnotherGuest(t *testing.T) {
	t.Parallel()
	const volume = "local-lvm:vm-201-disk-0"
	gone := 201
	keep := vmYAML("new", 202, "lifecycle: {destroy: deny}")
	attached := vmYAML("new", 202, `disks: {scsi1: {volume: "`+volume+`"}}`, "lifecycle: {destroy: deny}")
	tests := map[string]struct {
		destroy, manifest, message string
		byHand                     bool
	}{
		"allowed":          {"allow", attached, "new.yaml:8:", false},
		"approved":         {"approve", attached, "new.yaml:8:", false},
		"attached_by_hand": {"allow", keep, "as scsi1", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				old := func(disk string) string {
					return vmYAML("old", 201, "disks: {scsi1: "+disk+"}", "lifecycle: {destroy: "+test.destroy+"}")
				}
				l.files["old.yaml"], l.files["new.yaml"] = old("{storage: local-lvm, size: 4Gi}"), keep
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				l.files["old.yaml"] = old("{absent: true}")
				l.waitForAcceptance(l.push("detach", alice))
				l.approveAll(gone)
				l.converge()
				l.files["new.yaml"] = test.manifest
				l.push("attach", alice)
				if test.byHand {
					l.ok(l.sim.Edit(202, "scsi1", volume+",size=4G"))
				}
				l.converge()
				delete(l.files, "old.yaml")
				l.waitForAcceptance(l.push("the old one goes", alice))
				l.waitForCondition(201, "volume-in-use", volume, "VirtualMachine/new (202) as scsi1", test.message)
				l.remains(gone, "a kept guest without a step to approve", func(g report.Guest) bool {
					return len(g.Held) == 0 && hasCondition(g, plan.Blocked, reason.VolumeInUse)
				})
				if !slices.Contains(l.volumesOf(201), volume) || l.sim.Effects(201, pvesim.Destroyed) != 0 {
					t.Fatalf("got volumes %v and %d destroys, want the disk of 202, and no destroy", l.volumesOf(201), l.sim.Effects(201, pvesim.Destroyed))
				}
				l.files["new.yaml"] = keep
				l.waitForAcceptance(l.push("no manifest names the disk", alice))
				l.ok(l.sim.Edit(202, "scsi1", ""))
				if test.destroy == "approve" {
					eventually(t, "the destroy to be held", func() bool { return len(l.guest(l.engine.Report(), 201).Held) > 0 })
					l.approveAll(gone)
				}
				eventually(t, "the destroy of the old guest", func() bool { return l.sim.Effects(201, pvesim.Destroyed) == 1 })
			})
		})
	}
}

// TestIncidentDiskOfAnotherGuestIsAttached names a disk that another guest uses. The agent attaches it when the other guest has released it, to an
// existing guest and to a guest that is created with it; it applies the rest of the manifest meanwhile.
func TestIncidentDiskOfAnotherGuestIsAttached(t *testing.T) {
	t.Parallel()
	const volume = "local-lvm:vm-201-disk-0"
	other := 201
	blank := func(lines ...string) string {
		return strings.Replace(vmYAML("new", 202, lines...), "clone: {name: tmpl-debian-12}", "blank: {}", 1)
	}
	for name, exists := range map[string]bool{"exists": true, "is_made": false} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				old := func(disk string) string { return vmYAML("old", 201, "disks: {scsi1: "+disk+"}") }
				l.files["old.yaml"] = old("{storage: local-lvm, size: 4Gi}")
				if exists {
					l.files["new.yaml"] = blank()
				}
				l.push("before", alice)
				defer l.start()()
				l.converge()
				l.files["new.yaml"] = blank("memory: {size: 2Gi}", `disks: {scsi1: {volume: "`+volume+`"}}`)
				l.waitForAcceptance(l.push("a disk of another guest", alice))
				l.waitForCondition(202, volume, "is still in use by VirtualMachine/old (201) as scsi1")
				time.Sleep(10 * time.Minute)
				if got := l.sim.Value(202, "scsi1"); got != "" || exists != (l.sim.Value(202, "memory") == "2048") {
					t.Errorf("got scsi1 %q in %q, want none, and the rest of it in a guest that exists", got, l.sim.Config(202))
				}
				l.files["old.yaml"] = old("{absent: true}")
				l.waitForAcceptance(l.push("the other guest releases it", alice))
				l.approveAll(other)
				l.converge()
				if got := l.sim.Value(202, "scsi1"); !strings.HasPrefix(got, volume) {
					t.Errorf("got scsi1 %q, want %s", got, volume)
				}
			})
		})
	}
}
