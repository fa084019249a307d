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
	"gitops-agent/verify"
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
				l.waitForCondition(201, "in-use", volume, "VirtualMachine/new (202) as scsi1", test.message)
				l.remains(gone, "a kept guest without a step to approve", func(g report.Guest) bool {
					return len(g.Held) == 0 && hasCondition(g, plan.Blocked, reason.InUse)
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

// TestIncidentVolumeInTwoSlots moves a volume to another slot of its guest: the old slot is absent, and the new one names the volume. The end of the old slot waits for an approval, and
// then perhaps for a restart. The volume is in one slot at each moment. A slot that the manifest does not mention any more keeps its volume.
func TestIncidentVolumeInTwoSlots(t *testing.T) {
	t.Parallel()
	for name, running := range map[string]bool{"running": true, "stopped": false, "unmentioned": false} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.trustSigners(scoped(alice, nil, nil, verify.RoleChange), scoped(olga, nil, nil, verify.RoleApprove))
				l.files["web.yaml"] = vmYAML("web-1", 201, "disks: {scsi1: {storage: local-lvm, size: 1Gi}}")
				l.push("a guest", alice)
				defer l.start()()
				l.converge()
				if running {
					l.ok(l.sim.SetRunning(201, true))
					l.ok(l.sim.Edit(201, "hotplug", "network"))
				}
				volume, _, _ := strings.Cut(l.sim.Value(201, "scsi1"), ",")
				inOneSlot := func() {
					t.Helper()
					if got := l.sim.Config(201); strings.Count(got, volume) != 1 {
						t.Fatalf("got config\n%s\nwant the volume in one slot", got)
					}
				}
				old := "scsi1: {absent: true}, "
				if name == "unmentioned" {
					old = ""
				}
				l.files["web.yaml"] = vmYAML("web-1", 201, "disks: {"+old+"scsi2: {volume: '"+volume+"'}}")
				l.waitForAcceptance(l.push("another slot", alice))
				time.Sleep(10 * time.Minute)
				inOneSlot()
				l.waitForCondition(201, volume+" is still in scsi1")
				if old == "" {
					return
				}
				l.approve(l.digestOfHold(201))
				if running {
					eventually(l, "the removal that waits", func() bool { return strings.Contains(l.sim.Config(201), "delete: scsi1") })
					time.Sleep(10 * time.Minute)
					inOneSlot()
					l.ok(l.sim.SetRunning(201, false))
				}
				eventually(l, "the new slot", func() bool { return strings.HasPrefix(l.sim.Value(201, "scsi2"), volume) })
				inOneSlot()
				l.converge()
			})
		})
	}
}
