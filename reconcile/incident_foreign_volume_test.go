package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// foreignVMID is a guest that no manifest names and that the agent does not own.
const foreignVMID = 1000

// reference is a way in which a guest can name a volume.
type reference struct {
	name  func(l *lab, vmid int, volume string) // makes the reference by hand
	words string                                // of the condition that names it
}

// references lists every part of a configuration that can name a volume.
func references() map[string]reference {
	file := func(change func(text, volume string) string) func(*lab, int, string) {
		return func(l *lab, vmid int, volume string) {
			l.ok(l.sim.EditFile(vmid, func(text string) string { return change(text, volume) }))
		}
	}
	return map[string]reference{
		"config":  {func(l *lab, vmid int, volume string) { l.ok(l.sim.Edit(vmid, "scsi5", volume+",size=4G")) }, "as scsi5"},
		"unused":  {func(l *lab, vmid int, volume string) { l.ok(l.sim.Edit(vmid, "unused3", volume)) }, "as unused3"},
		"pending": {file(func(text, volume string) string { return text + "\n[PENDING]\nscsi5: " + volume + "\n" }), "as scsi5 (pending)"},
		"snapshot": {file(func(text, volume string) string {
			return text + "\n[before]\nscsi5: " + volume + "\nsnaptime: 1700000000\n"
		}), "as scsi5 of snapshot before"},
		"path": {func(l *lab, vmid int, volume string) {
			l.ok(l.sim.Edit(vmid, "args", "-drive file=/dev/pve/"+strings.TrimPrefix(volume, "local-lvm:")))
		}, "a path in args"},
	}
}

// addForeign adds a running guest that the agent does not manage, with a disk local-lvm:vm-1000-disk-0.
func (l *lab) addForeign() {
	l.Helper()
	_, err := l.sim.AddVM(pvesim.Guest{VMID: foreignVMID, Running: true, Config: "name: mail-0\nmemory: 512\nscsi0: local-lvm:vm-1000-disk-0,size=4G\n"})
	l.ok(err)
}

// waitForVolumeHold waits until a step of a guest is held because of its volumes, and no condition reports a failure.
func (l *lab) waitForVolumeHold(vmid int, reason gate.HoldReason, words ...string) {
	l.Helper()
	l.waitForCondition(vmid, append(words, "Blocked "+string(reason))...)
	if g := l.guest(l.engine.Report(), vmid); len(g.Held) == 0 || g.Held[0].Reason != reason || g.Held[0].Hint == "" {
		l.Errorf("got held steps %+v, want one with the reason %s and a remedy", g.Held, reason)
	}
}

// TestIncidentDiskOfAnUnmanagedGuestIsAttached names the disk of a running guest that the agent does not manage. A second virtual machine on the disk
// would destroy its file system.
func TestIncidentDiskOfAnUnmanagedGuestIsAttached(t *testing.T) {
	const volume = "local-lvm:vm-1000-disk-0"
	for name, exists := range map[string]bool{"to_a_guest_that_exists": true, "to_a_guest_that_is_created": false} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.addForeign()
				blank := func(lines ...string) string {
					return strings.Replace(vmYAML("new", 202, lines...), "clone: {name: tmpl-debian-12}", "blank: {}", 1)
				}
				if exists {
					l.files["new.yaml"] = blank()
				}
				l.push("before", alice)
				defer l.start()()
				l.converge()
				l.files["new.yaml"] = blank(`disks: {scsi0: {volume: "` + volume + `"}}`)
				l.waitForAcceptance(l.push("a disk of another guest", alice))
				l.waitForVolumeHold(202, gate.HoldVolumeInUse, volume, "VirtualMachine/mail-0 (1000) as scsi0")
				time.Sleep(10 * time.Minute)
				if got := l.sim.Value(202, "scsi0"); got != "" || exists != (l.sim.Config(202) != "") {
					t.Errorf("got %q, want no disk", l.sim.Config(202))
				}
				if not := l.results(map[bool]cluster.Op{true: cluster.OpConfig, false: cluster.OpCreate}[exists], 202); !slices.Contains(not, journal.NotRun) {
					t.Errorf("got results %v, want the refusal journaled as not-run", not)
				}
				l.ok(l.sim.Edit(foreignVMID, "scsi0", ""))
				l.converge()
				if got := l.sim.Value(202, "scsi0"); !strings.HasPrefix(got, volume) {
					t.Errorf("got scsi0 %q, want %s when the other guest has released it", got, volume)
				}
			})
		})
	}
}

// TestIncidentVolumeThatAGuestNamesElsewhereIsAttached names a volume that a guest without manifest names outside its slots.
func TestIncidentVolumeThatAGuestNamesElsewhereIsAttached(t *testing.T) {
	const volume = "local-lvm:vm-203-disk-0" // left over from a guest that is gone
	for name, ref := range references() {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.addForeign()
				l.ok(l.sim.AddVolume(volume, 4<<30))
				ref.name(l, foreignVMID, volume)
				l.files["new.yaml"] = vmYAML("new", 202, `disks: {scsi1: {volume: "`+volume+`"}}`)
				l.push("a left-over disk", alice)
				defer l.start()()
				l.waitForVolumeHold(202, gate.HoldVolumeInUse, volume, ref.words)
				time.Sleep(10 * time.Minute)
				if got := l.sim.Value(202, "scsi1"); got != "" {
					t.Errorf("got scsi1 %q, want none", got)
				}
			})
		})
	}
}

// TestIncidentDestroyFreesAVolumeOfAnUnmanagedGuest removes the manifest of a guest while a guest without manifest names one of its volumes. Proxmox
// frees the volume with the guest. The guest is not even stopped.
func TestIncidentDestroyFreesAVolumeOfAnUnmanagedGuest(t *testing.T) {
	const volume = "local-lvm:vm-201-disk-0"
	for name, ref := range references() {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.addForeign()
				l.files["old.yaml"] = vmYAML("old", 201, "disks: {scsi1: {storage: local-lvm, size: 4Gi}}", "state: running", "lifecycle: {destroy: allow}")
				l.files["keep.yaml"] = vmYAML("keep", 205)
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				untouched := l.sim.Config(foreignVMID)
				ref.name(l, foreignVMID, volume)
				delete(l.files, "old.yaml")
				l.waitForAcceptance(l.push("the old one goes", alice))
				l.waitForVolumeHold(201, gate.HoldVolumeInUse, volume, "VirtualMachine/mail-0 (1000) as", ref.words)
				time.Sleep(10 * time.Minute)
				if !slices.Contains(l.volumesOf(201), volume) || !l.sim.Running(201) {
					t.Errorf("got volumes %v, running %t, want the guest as it was", l.volumesOf(201), l.sim.Running(201))
				}
				l.ok(l.sim.EditFile(foreignVMID, func(string) string { return untouched }))
				eventually(l, "the destroy", func() bool { return l.sim.Effects(201, pvesim.Destroyed) == 1 })
			})
		})
	}
}

// TestIncidentTemplateWithLinkedClonesIsDestroyed removes the manifest of a template from which an unmanaged guest is a linked clone.
func TestIncidentTemplateWithLinkedClonesIsDestroyed(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["tmpl.yaml"] = vmYAML("tmpl-1", 201, "template: true", "lifecycle: {destroy: allow}")
		l.files["keep.yaml"] = vmYAML("keep", 205)
		l.push("a template", alice)
		defer l.start()()
		l.waitForCondition(201, "Held approval", "template")
		l.approveAll(201)
		l.converge()
		l.callAs("gitops@pve!agent", "POST", "/nodes/pve1/qemu/201/clone", "newid=1001&full=0")
		delete(l.files, "tmpl.yaml")
		l.waitForAcceptance(l.push("the template goes", alice))
		l.waitForVolumeHold(201, gate.HoldVolumeInUse, "base-201-disk-0", "(1001) as the base of a linked clone in scsi0")
		l.remains(201, "a template that is kept", func(g report.Guest) bool { return len(g.Held) > 0 })
		l.ok(l.sim.RemoveGuest(1001))
		eventually(l, "the destroy", func() bool { return l.sim.Effects(201, pvesim.Destroyed) == 1 })
	})
}

// TestIncidentVolumeIsAttachedByHandBeforeTheDestroy attaches a disk of a guest to another managed guest by hand while the destroy of the first guest
// waits for a write slot, long after the second guest was read.
func TestIncidentVolumeIsAttachedByHandBeforeTheDestroy(t *testing.T) {
	const volume = "local-lvm:vm-201-disk-0"
	for name, ref := range references() {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				for vmid := 202; vmid <= 204; vmid++ {
					l.files[fmt.Sprintf("%d.yaml", vmid)] = vmYAML(fmt.Sprintf("other-%d", vmid), vmid)
				}
				l.files["old.yaml"] = vmYAML("old", 201, "disks: {scsi1: {storage: local-lvm, size: 4Gi}}", "lifecycle: {destroy: allow}")
				l.push("four guests", alice)
				defer l.start()()
				l.converge()
				l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/20[23]/config$", Kind: pvesim.HoldBefore, Times: 2}))
				for vmid := 202; vmid <= 203; vmid++ {
					l.files[fmt.Sprintf("%d.yaml", vmid)] = vmYAML(fmt.Sprintf("other-%d", vmid), vmid, "description: busy")
				}
				l.pushNow("occupy the write slots")
				l.ok(l.sim.WaitHeld(l.Context(), 2))
				delete(l.files, "old.yaml")
				l.pushNow("the old one goes")
				eventually(l, "the destroy to wait for a slot", func() bool {
					return slices.ContainsFunc(l.journal.State().Open, func(o journal.OpenStep) bool { return o.VMID == 201 })
				})
				ref.name(l, 204, volume)
				l.sim.Release()
				l.waitForVolumeHold(201, gate.HoldVolumeInUse, volume, "VirtualMachine/other-204 (204) as", ref.words)
				if l.sim.Config(201) == "" || !slices.Contains(l.volumesOf(201), volume) {
					t.Errorf("got volumes %v, want the guest as it was", l.volumesOf(201))
				}
				if got := l.results(cluster.OpDestroy, 201); !slices.Equal(got, []journal.Result{journal.NotRun}) {
					t.Errorf("got results %v, want one not-run", got)
				}
			})
		})
	}
}
