package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
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
func (l *lab) waitForVolumeHold(vmid int, reason reason.Name, words ...string) {
	l.Helper()
	l.waitForCondition(vmid, append(words, "Blocked "+string(reason))...)
	if g := l.guest(l.engine.Report(), vmid); len(g.Held) == 0 || g.Held[0].Reason != reason || g.Held[0].Hint == "" {
		l.Errorf("got held steps %+v, want one with the reason %s and a remedy", g.Held, reason)
	}
}

// TestIncidentDiskOfAnUnmanagedGuestIsAttached names the disk of a running guest that the agent does not manage. A second virtual machine on the disk
// would destroy its file system.
func TestIncidentDiskOfAnUnmanagedGuestIsAttached(t *testing.T) {
	t.Parallel()
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
				l.waitForVolumeHold(202, reason.InUse, volume, "VirtualMachine/mail-0 (1000) as scsi0")
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
	t.Parallel()
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
				l.waitForVolumeHold(202, reason.InUse, volume, ref.words)
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
	t.Parallel()
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
				l.waitForVolumeHold(201, reason.InUse, volume, "VirtualMachine/mail-0 (1000) as", ref.words)
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

// TestIncidentTemplateRenamesAVolumeOfAnUnmanagedGuest turns a guest into a template while a guest without manifest names one of its disks. The disk has
// the vmid of neither: Proxmox renames every disk of a template, and the other guest would lose it.
func TestIncidentTemplateRenamesAVolumeOfAnUnmanagedGuest(t *testing.T) {
	t.Parallel()
	const volume = "local-lvm:vm-203-disk-0"
	for name, ref := range references() {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.addForeign()
				l.ok(l.sim.AddVolume(volume, 4<<30))
				disks := `disks: {scsi1: {volume: "` + volume + `"}}`
				l.files["web.yaml"] = vmYAML("web-1", 201, disks)
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				untouched := l.sim.Config(foreignVMID)
				l.files["web.yaml"] = vmYAML("web-1", 201, disks, "template: true")
				l.waitForAcceptance(l.push("a template", alice))
				digest := l.digestOfHold(201)
				ref.name(l, foreignVMID, volume)
				l.approve(digest)
				l.waitForVolumeHold(201, reason.InUse, volume, "VirtualMachine/mail-0 (1000) as", ref.words)
				time.Sleep(10 * time.Minute)
				if got := l.volume(201, "scsi1"); got != volume {
					t.Errorf("got %s in scsi1, want %s", got, volume)
				}
				l.ok(l.sim.EditFile(foreignVMID, func(string) string { return untouched }))
				eventually(l, "the template", func() bool { return l.sim.Effects(201, pvesim.Templated) == 1 })
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
		l.waitForVolumeHold(201, reason.InUse, "base-201-disk-0", "(1001) as the base of a linked clone in scsi0")
		l.remains(201, "a template that is kept", func(g report.Guest) bool { return len(g.Held) > 0 })
		l.ok(l.sim.RemoveGuest(1001))
		eventually(l, "the destroy", func() bool { return l.sim.Effects(201, pvesim.Destroyed) == 1 })
	})
}

// TestIncidentVolumeIsAttachedByHandBeforeTheDestroy attaches a disk of a guest to another managed guest by hand while the destroy of the first guest
// waits for a write slot, long after the second guest was read.
func TestIncidentVolumeIsAttachedByHandBeforeTheDestroy(t *testing.T) {
	t.Parallel()
	const volume = "local-lvm:vm-201-disk-0"
	for name, ref := range references() {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.addBusyGuests()
				l.files["other.yaml"] = vmYAML("other-204", 204)
				l.files["old.yaml"] = vmYAML("old", 201, "disks: {scsi1: {storage: local-lvm, size: 4Gi}}", "lifecycle: {destroy: allow}")
				l.push("four guests", alice)
				defer l.start()()
				l.converge()
				l.occupyWriteSlots()
				delete(l.files, "old.yaml")
				l.pushNow("the old one goes")
				l.waitForWaitingCall(201)
				ref.name(l, 204, volume)
				l.freeWriteSlots()
				l.waitForVolumeHold(201, reason.InUse, volume, "VirtualMachine/other-204 (204) as", ref.words)
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

// TestIncidentUsersOfAVolumeAreNotKnown removes a guest while the agent cannot know who uses its volumes: the token may not see every guest, a guest
// cannot be read, or a node with guests that can access the storage is offline. The destroy is held until the reason is gone.
func TestIncidentUsersOfAVolumeAreNotKnown(t *testing.T) {
	t.Parallel()
	const token = "gitops@pve!agent"
	all := pvesim.ACL{Path: "/", Role: "Administrator"}
	tests := map[string]struct {
		storage     string
		begin, end  func(l *lab)
		cause, hint string
	}{
		"hidden_guests": {
			"local-lvm",
			func(l *lab) {
				l.sim.SetPrivileges(token, []pvesim.ACL{all, {Path: "/vms/1000", Role: "PVEVMUser", Privileges: nil}, {Path: "/vms/1001", Privileges: []string{"VM.Clone"}}})
			},
			func(l *lab) { l.sim.SetPrivileges(token, []pvesim.ACL{all}) },
			"no-audit", "VM.Audit on /vms/1001",
		},
		"unreadable_guest": {
			"local-lvm",
			func(l *lab) {
				l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "/qemu/1000/pending$", Kind: pvesim.ProxyStatus, Status: 596, Times: 1000000}))
			},
			func(l *lab) { l.sim.ClearFaults() },
			"guest-unread", "make the guest readable",
		},
		"offline_node": {
			"ceph", func(l *lab) { l.sim.StopNode("pve2") }, func(l *lab) { l.sim.StartNode("pve2") }, "node-offline", "start the node",
		},
		"offline_node_without_the_storage": {"local-lvm", func(l *lab) { l.sim.StopNode("pve2") }, nil, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}, Storages: []pvesim.Storage{
					{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,iso,vztmpl,import,snippets,backup"},
					{ID: "local-lvm", Type: "lvmthin", Content: "images,rootdir"},
					{ID: "ceph", Type: "lvmthin", Content: "images,rootdir", Shared: true},
				}}))
				for vmid, node := range map[int]string{1000: "pve1", 1001: "pve2"} {
					_, err := l.sim.AddVM(pvesim.Guest{VMID: vmid, Node: node, Config: fmt.Sprintf("name: foreign-%d\nmemory: 512\n", vmid)})
					l.ok(err)
				}
				l.files["cluster.yaml"] = clusterYAML
				l.files["old.yaml"] = strings.Replace(vmYAML("old", 201, "disks: {scsi1: {storage: "+test.storage+", size: 4Gi}}", "lifecycle: {destroy: allow}"),
					"clone: {name: tmpl-debian-12}", "blank: {}", 1)
				l.files["keep.yaml"] = vmYAML("keep", 205)
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				test.begin(l)
				delete(l.files, "old.yaml")
				l.waitForAcceptance(l.push("the old one goes", alice))
				if test.cause != "" {
					l.waitForVolumeHold(201, reason.NotObserved, test.cause)
					if hint := l.guest(l.engine.Report(), 201).Held[0].Hint; !strings.Contains(hint, test.hint) {
						t.Errorf("got the remedy %q, want %q", hint, test.hint)
					}
					time.Sleep(10 * time.Minute)
					if l.sim.Config(201) == "" {
						t.Error("got the guest destroyed, want it held")
					}
					test.end(l)
				}
				eventually(l, "the destroy", func() bool { return l.sim.Effects(201, pvesim.Destroyed) == 1 })
			})
		})
	}
}

// TestVolumeChecksCostReadingsOnlyWhenNeeded counts the requests of an agent in sync, of an ordinary change, and of ten destroys at once.
func TestVolumeChecksCostReadingsOnlyWhenNeeded(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["cluster.yaml"] = clusterYAML + "  guards: {maxDestroysPerDay: 50}\n"
		for vmid := 1000; vmid < 1020; vmid++ {
			_, err := l.sim.AddVM(pvesim.Guest{VMID: vmid, Config: fmt.Sprintf("name: foreign-%d\nmemory: 512\nscsi0: local-lvm:vm-%d-disk-0,size=4G\n", vmid, vmid)})
			l.ok(err)
		}
		for vmid := 211; vmid <= 220; vmid++ {
			l.files[fmt.Sprint(vmid, ".yaml")] = vmYAML(fmt.Sprint("web-", vmid), vmid, "disks: {scsi1: {storage: local-lvm, size: 4Gi}}", "lifecycle: {destroy: allow}")
		}
		l.files["keep.yaml"] = vmYAML("keep", 205)
		l.push("eleven guests", alice)
		defer l.start()()
		l.converge()
		routes := func() (indexes, guests, snapshots int) {
			c := l.sim.Counters().Routes
			return c["GET /cluster/replication"], c["GET /nodes/{node}/qemu/{vmid}/pending"], c["GET /nodes/{node}/qemu/{vmid}/snapshot"]
		}
		if indexes, _, _ := routes(); indexes != 0 {
			t.Errorf("got %d readings of all guests for creates and disks that Proxmox allocates, want none", indexes)
		}
		l.files["keep.yaml"] = vmYAML("keep", 205, "memory: {size: 2Gi}", "description: changed")
		l.push("an ordinary change", alice)
		l.converge()
		time.Sleep(time.Hour)
		if indexes, _, _ := routes(); indexes != 0 {
			t.Errorf("got %d readings of all guests for an ordinary change and an hour in sync, want none", indexes)
		}
		l.files["adopted.yaml"] = strings.Replace(vmYAML("foreign-1000", foreignVMID, "adopt: ifUnmanaged",
			`disks: {scsi0: {volume: "local-lvm:vm-1000-disk-0", discard: true}}`), "  source: {clone: {name: tmpl-debian-12}}\n", "", 1)
		l.push("adopt a guest with its disk", alice)
		l.converge()
		if indexes, _, _ := routes(); indexes != 0 || !strings.Contains(l.sim.Value(foreignVMID, "scsi0"), "discard") {
			t.Errorf("got %d readings of all guests, scsi0 %q, want the guest adopted without a reading", indexes, l.sim.Value(foreignVMID, "scsi0"))
		}
		for vmid := 211; vmid <= 220; vmid++ {
			delete(l.files, fmt.Sprint(vmid, ".yaml"))
		}
		l.sim.ResetCounters()
		l.push("ten destroys", alice)
		l.converge()
		indexes, guests, snapshots := routes()
		t.Logf("ten destroys among 32 guests: %d readings of all guests, %d guests read, %d lists of snapshots", indexes, guests, snapshots)
		if indexes != 2 || snapshots > 32 { // the plan reads the replication jobs too, once for all of them
			t.Errorf("got %d lists of replication jobs and %d lists of snapshots for ten destroys, want one for the plan, one for the readings of all guests, and one for each guest", indexes, snapshots)
		}
	})
}
