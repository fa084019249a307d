package reconcile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// guestsWithANewSlot are guests whose manifests get another slot.
var guestsWithANewSlot = map[string]struct {
	vmid          int
	before, after string
	slot          string
}{
	"vm": {201, vmYAML("web-1", 201), vmYAML("web-1", 201, "disks: {scsi1: {storage: local-lvm, size: 4Gi}}"), "scsi1"},
	"ct": {210, dnsYAML(), withMount(), "mp0"},
}

// secondDisk is a disk for webWithDisks.
const secondDisk = ", scsi1: {storage: local-lvm, size: 4Gi}"

// webWithDisks is the manifest of a stopped machine with the disk of its source and further ones.
func webWithDisks(disks string, lines ...string) string {
	return vmYAML("web-1", 201, append(lines, "state: stopped", "disks: {scsi0: {size: 3Gi}"+disks+"}")...)
}

// TestEngineFillsASlotAfterALostCall loses calls that add a disk before Proxmox executes them. The agent finds out that they had no effect, and adds
// the disk without an approval.
func TestEngineFillsASlotAfterALostCall(t *testing.T) {
	t.Parallel()
	faults := map[string]pvesim.Fault{
		"dropped": {Kind: pvesim.DropBefore},
		"596":     {Kind: pvesim.ProxyStatus, Status: 596},
		"503":     {Kind: pvesim.ProxyStatus, Status: 503},
	}
	for kind, test := range guestsWithANewSlot {
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

// TestEngineEndsTheHistoryOfARemovedSlot removes a disk from the manifest and adds it again. After a removal that converged, the slot gets a new
// volume without an approval; a removal that did not converge changes nothing.
func TestEngineEndsTheHistoryOfARemovedSlot(t *testing.T) {
	t.Parallel()
	const disk, absent = secondDisk, ", scsi1: {absent: true}"
	tests := map[string]struct {
		removed string
		remove  func(l *lab)
		again   bool // the old volume is attached again
	}{
		"absent_and_approved": {absent, func(l *lab) { l.approveAll(201); l.converge() }, false},
		"absent_not_approved": {absent, func(l *lab) { l.digestOfHold(201) }, true},
		"detached_then_absent": {absent, func(l *lab) {
			l.write(201, "delete=scsi1")
			l.converge()
		}, false},
		"dropped_then_detached": {"", func(l *lab) { l.converge(); l.write(201, "delete=scsi1") }, false},
		"only_detached":         {disk, func(l *lab) { l.write(201, "delete=scsi1") }, true},
	}
	for name, test := range tests {
		for when, restarts := range map[string]bool{"": false, "_restarted": true} {
			t.Run(name+when, func(t *testing.T) {
				runLab(t, nil, func(t *testing.T, l *lab) {
					l.sim.Guard()
					l.files["web.yaml"] = webWithDisks(disk)
					l.push("a disk", alice)
					stop := l.start()
					defer func() { stop() }()
					l.converge()
					volume := l.volume(201, "scsi1")
					l.files["web.yaml"] = webWithDisks(test.removed)
					l.waitForAcceptance(l.push("no disk", alice))
					test.remove(l)
					if restarts {
						stop()
						stop = l.start()
					}
					l.files["web.yaml"] = webWithDisks(disk)
					l.waitForAcceptance(l.push("a disk again", alice))
					l.converge()
					if got := l.volume(201, "scsi1"); got == "" || (got == volume) != test.again {
						t.Errorf("got %s in scsi1, which held %s before, want the same: %t", got, volume, test.again)
					}
					if v := l.sim.Violations(); len(v) != 0 {
						t.Errorf("got violations %v, want none", v)
					}
				})
			})
		}
	}
}

// TestEngineFillsANewSlot adds a disk to a guest in every situation in which a slot has no history. No approval is needed.
func TestEngineFillsANewSlot(t *testing.T) {
	t.Parallel()
	const disk = secondDisk
	tests := map[string]func(l *lab, restart func(between func())){
		"with_the_guest": func(l *lab, _ func(func())) {
			l.files["web.yaml"] = webWithDisks(disk)
			l.push("a guest with a disk", alice)
		},
		"later": func(l *lab, _ func(func())) {
			l.files["web.yaml"] = webWithDisks("")
			l.push("a guest", alice)
			l.converge()
			l.files["web.yaml"] = webWithDisks(disk)
			l.push("a disk", alice)
		},
		"while_the_agent_is_stopped": func(l *lab, restart func(func())) {
			l.files["web.yaml"] = webWithDisks("")
			l.push("a guest", alice)
			l.converge()
			restart(func() {
				l.files["web.yaml"] = webWithDisks(disk)
				l.push("a disk", alice)
			})
		},
		"to_an_adopted_guest": func(l *lab, _ func(func())) {
			_, err := l.sim.AddVM(pvesim.Guest{VMID: 201, Config: "name: web-1\nscsi0: local-lvm:vm-201-disk-0,size=3G\n"})
			l.ok(err)
			l.files["web.yaml"] = webWithDisks(disk, "adopt: ifUnmanaged")
			l.push("an adopted guest with another disk", alice)
		},
		"after_the_state_was_lost": func(l *lab, restart func(func())) {
			l.files["web.yaml"] = webWithDisks("")
			l.push("a guest", alice)
			l.converge()
			restart(func() {
				l.state = l.TempDir()
				l.ok(l.sim.Edit(201, "tags", ""))
				l.files["web.yaml"] = webWithDisks(disk, "adopt: ifUnmanaged")
				l.push("adopted again, with another disk", alice)
			})
		},
		"in_place_of_a_cdrom": func(l *lab, _ func(func())) {
			l.files["web.yaml"] = webWithDisks("", `raw: {scsi1: "none,media=cdrom"}`)
			l.push("a guest", alice)
			l.converge()
			l.files["web.yaml"] = webWithDisks(disk)
			l.push("a disk", alice)
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				stop := l.start()
				defer func() { stop() }()
				test(l, func(between func()) {
					stop()
					between()
					stop = l.start()
				})
				l.converge()
				if got := l.volume(201, "scsi1"); !strings.HasPrefix(got, "local-lvm:vm-201-") {
					t.Errorf("got %q in scsi1, want a new volume", got)
				}
			})
		})
	}
}

// TestEngineAttachesAfterARollback rolls a guest back to a snapshot without its second disk. The disk is attached again.
func TestEngineAttachesAfterARollback(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = webWithDisks("")
		l.push("one disk", alice)
		defer l.start()()
		l.converge()
		l.callAs(byHand, "POST", "/nodes/pve1/qemu/201/snapshot", "snapname=before")
		l.converge()
		l.files["web.yaml"] = webWithDisks(secondDisk)
		l.push("two disks", alice)
		l.converge()
		volume := l.volume(201, "scsi1")
		l.callAs(byHand, "POST", "/nodes/pve1/qemu/201/snapshot/before/rollback", "")
		eventually(l, "the rollback", func() bool { return l.volume(201, "scsi1") == "" })
		eventually(l, "the disk", func() bool { return l.volume(201, "scsi1") != "" })
		l.converge()
		if got := l.volume(201, "scsi1"); got != volume {
			t.Errorf("got %s in scsi1, want %s", got, volume)
		}
	})
}

// TestEngineFollowsVolumes moves disks by hand: to another storage, and from slot to slot. That is no detaching, and the record follows.
func TestEngineFollowsVolumes(t *testing.T) {
	runLabWithDisks(t, "stopped", func(t *testing.T, l *lab, restart func(func())) {
		l.files["web.yaml"] = strings.ReplaceAll(withDisks("state: stopped"), "scsi1: {storage: local-lvm,", "scsi1: {")
		l.push("scsi1 on any storage", alice)
		l.converge()
		l.callAs(byHand, "POST", "/nodes/pve1/qemu/201/move_disk", "disk=scsi1&storage=local2")
		moved := ""
		eventually(l, "the record of the moved disk", func() bool {
			moved = l.volume(201, "scsi1")
			return strings.HasPrefix(moved, "local2:") && l.journal.State().Attached[201].Volumes["scsi1"] == moved
		})
		l.write(201, "delete=scsi1")
		eventually(l, "the moved disk attached again", func() bool { return l.volume(201, "scsi1") == moved })
		l.ok(l.sim.EditConfig(201, func(keys map[string]string) { keys["scsi1"], keys["scsi2"] = keys["scsi2"], keys["scsi1"] }))
		eventually(l, "the record of the swapped disks", func() bool { return l.journal.State().Attached[201].Volumes["scsi2"] == moved })
		l.write(201, "delete=scsi2")
		eventually(l, "the swapped disk attached again", func() bool { return l.volume(201, "scsi2") == moved })
	})
}

// withoutSlots replaces the journal by one that an older release could have written: without the volumes of slots.
func (l *lab) withoutSlots() {
	l.Helper()
	dir := filepath.Join(l.state, "journal")
	var bodies []journal.Body
	_, err := journal.Read(dir, func(r journal.Record) error {
		if _, isSlots := r.Body.(journal.Attached); !isSlots {
			bodies = append(bodies, r.Body)
		}
		return nil
	})
	l.ok(err)
	l.ok(os.RemoveAll(dir))
	j, err := journal.Open(journal.Options{Dir: dir})
	l.ok(err)
	l.ok(j.Append(l.Context(), bodies...))
	l.ok(j.Close())
}

// slotRecords returns the number of records about slots in the journal, and in how many commits they are.
func (l *lab) slotRecords() (records, commits int) {
	l.Helper()
	var last time.Time
	_, err := journal.Read(filepath.Join(l.state, "journal"), func(r journal.Record) error {
		if _, isSlots := r.Body.(journal.Attached); isSlots {
			records++
			if !r.Time.Equal(last) {
				commits++
			}
			last = r.Time
		}
		return nil
	})
	l.ok(err)
	return records, commits
}

// TestUpgradeRecordsSlots starts on the journal of a release that recorded no volumes. The first readings are recorded in few appends, nothing is
// written to the cluster or held, and later readings of the same state are not journaled.
func TestUpgradeRecordsSlots(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		const guests = 40
		for i := range guests {
			l.files[fmt.Sprintf("web-%d.yaml", i)] = vmYAML(fmt.Sprintf("web-%d", i), 210+i, "disks: {scsi0: {size: 3Gi}}")
		}
		l.push("guests", alice)
		stop := l.start()
		l.converge()
		stop()
		l.withoutSlots()
		l.sim.ResetCounters()
		stop = l.start()
		l.converge()
		time.Sleep(3 * time.Minute)
		records, commits := l.slotRecords()
		writes := 0
		for i := range guests {
			writes += l.sim.Effects(210+i, pvesim.ConfigWritten)
		}
		if records != guests || commits > 5 || writes != 0 {
			t.Errorf("got %d records in %d commits and %d writes to guests, want %d in at most 5, and no write", records, commits, writes, guests)
		}
		seq := l.journal.State().Seq
		time.Sleep(time.Hour)
		if got := l.journal.State().Seq; got != seq {
			t.Errorf("got %d records in an idle hour, want none", got-seq)
		}
		stop()
	})
}

// TestUpgradeKnowsNewSlots upgrades while a slot is empty. Without a record it is unknown what the slot held, unless a revision that was accepted after
// the upgrade added the slot.
func TestUpgradeKnowsNewSlots(t *testing.T) {
	t.Parallel()
	const first, second = secondDisk, ", scsi2: {storage: local-lvm, size: 4Gi}"
	tests := map[string]struct {
		before, after string
		detach        bool
		held, filled  string // slots
	}{
		"detached":             {first, first, true, "scsi1", ""},
		"added":                {"", first, false, "", "scsi1"},
		"detached_and_added":   {first, first + second, true, "scsi1", "scsi2"},
		"nothing_happened":     {first, first, false, "", "scsi1"},
		"detached_and_dropped": {first, second, true, "", "scsi2"},
	}
	run := func(name string, readable bool) {
		test := tests[name]
		t.Run(fmt.Sprintf("%s/readable_%t", name, readable), func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.sim.Guard()
				l.files["web.yaml"] = webWithDisks(test.before)
				l.push("before", alice)
				stop := l.start()
				l.converge()
				stop()
				l.withoutSlots()
				if test.detach {
					l.write(201, "delete=scsi1")
				}
				if test.after != test.before {
					l.files["web.yaml"] = webWithDisks(test.after)
					l.push("after", alice)
				}
				if !readable {
					l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "/qemu/201/", Kind: pvesim.ErrorText, Text: "unable to read", Times: -1}))
				}
				defer l.start()()
				l.waitForAcceptance(l.repo.Tip)
				time.Sleep(time.Minute)
				l.sim.ClearFaults()
				if test.filled != "" {
					eventually(l, "the new volume", func() bool { return l.volume(201, test.filled) != "" })
				}
				if test.held == "" {
					l.converge()
					return
				}
				l.waitForHold(201, reason.Approval)
				l.waitForCondition(201, "volume-lost", test.held+" held an unknown volume", "unused0=local-lvm:vm-201-disk-0")
				time.Sleep(10 * time.Minute)
				if got := l.volume(201, test.held); got != "" {
					t.Fatalf("got %s in %s, want nothing before an approval", got, test.held)
				}
				l.write(201, test.held+"=local-lvm:vm-201-disk-0") // what the hint says
				l.converge()
			})
		})
	}
	for name := range tests {
		run(name, true)
		run(name, false) // the agent cannot read the guest before it accepts the second revision
	}
}

// TestOlderStateDoubtsSlots restores a state directory from before a disk was added. The disk was detached and removed since, which the older journal
// cannot know, so its slot is not filled without an approval.
func TestOlderStateDoubtsSlots(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = webWithDisks("")
		l.push("one disk", alice)
		stop := l.start()
		l.converge()
		stop()
		backup := filepath.Join(t.TempDir(), "backup")
		l.ok(os.CopyFS(backup, os.DirFS(l.state)))
		stop = l.start()
		l.files["web.yaml"] = webWithDisks(secondDisk)
		l.push("two disks", alice)
		l.converge()
		stop()
		l.write(201, "delete=scsi1")
		l.write(201, "delete=unused0")
		l.state, l.opts.Note = backup, intake.RewriteNote{Dir: backup}
		defer l.start()()
		l.waitForHold(201, reason.Approval)
		l.waitForCondition(201, "volume-lost", "scsi1 held an unknown volume")
	})
}

// TestCrashWhileASlotIsFilled crashes the agent around the call that adds a disk, and detaches the disk before the next start. The disk is attached
// again, or the step is held; the slot gets no second volume. Without a disk to detach, a virtual machine gets its disk without an approval.
func TestCrashWhileASlotIsFilled(t *testing.T) {
	t.Parallel()
	for kind, test := range guestsWithANewSlot {
		for _, at := range []string{"before-call", "after-call", "waiting"} {
			for _, remove := range []bool{false, true} {
				if kind == "ct" && at == "waiting" {
					continue // the call has no task
				}
				t.Run(fmt.Sprintf("%s/%s/removed_%t", kind, at, remove), func(t *testing.T) {
					runLab(t, nil, func(t *testing.T, l *lab) {
						l.rareTicks()
						l.sim.Guard()
						l.files["guest.yaml"] = test.before
						l.push("one guest", alice)
						stop := l.start()
						l.converge()
						time.Sleep(time.Minute) // so that the tasks of this run are not taken for those of the next
						stop()
						l.files["guest.yaml"] = test.after
						l.push("a disk", alice)
						d := &crashingCluster{Cluster: l.cluster, op: cluster.OpConfig, at: at}
						l.opts.Cluster = d
						stop = l.start()
						eventually(l, "the crash", d.crashed.Load)
						stop()
						l.opts.Cluster = l.cluster
						time.Sleep(time.Minute) // the task ends
						volume := l.volume(test.vmid, test.slot)
						if volume != "" {
							l.write(test.vmid, "delete="+test.slot)
						}
						if volume != "" && remove {
							l.sim.AnnounceFree(volume)
							l.write(test.vmid, "delete=unused0")
						}
						before := l.volumesOf(test.vmid)
						defer l.start()()
						if volume == "" && kind == "vm" {
							l.converge()
							return
						}
						l.waitForHold(test.vmid, reason.Approval)
						l.waitForCondition(test.vmid, "volume-lost", test.slot+" held an unknown volume")
						time.Sleep(30 * time.Minute)
						if diff := cmp.Diff(before, l.volumesOf(test.vmid)); diff != "" {
							t.Errorf("volumes differ (-want +got):\n%s", diff)
						}
						if v := l.sim.Violations(); len(v) != 0 {
							t.Errorf("got violations %v, want none", v)
						}
					})
				})
			}
		}
	}
}
