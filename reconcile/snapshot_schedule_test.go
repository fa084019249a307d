package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/reason"
)

// sections returns the snapshots of web-1, in the order of its configuration.
func (l *lab) sections() []string {
	l.Helper()
	var names []string
	for line := range strings.Lines(l.sim.Config(201)) {
		if name, isSection := strings.CutPrefix(strings.TrimSpace(line), "["); isSection && name != "special:cloudinit]" && name != "PENDING]" {
			names = append(names, strings.TrimSuffix(name, "]"))
		}
	}
	return names
}

// runLabWithSchedule runs a test from the moment at which web-1 has converged and has the snapshot of its first time. A bubble begins at midnight in UTC.
func runLabWithSchedule(t *testing.T, keep int, running bool, test func(t *testing.T, l *lab, p *probe)) {
	t.Helper()
	runLabWithOrders(t, []string{fmt.Sprintf("snapshots: {schedule: hourly, keep: %d}", keep)}, running, func(t *testing.T, l *lab, p *probe) {
		eventually(l, "the first snapshot", func() bool { return len(l.sections()) == 1 && len(l.journal.State().Open) == 0 })
		time.Sleep(2 * time.Minute)
		test(t, l, p)
	})
}

// untilHour waits until some minutes after the next full hour.
func untilHour() {
	now := time.Now()
	time.Sleep(now.Truncate(time.Hour).Add(time.Hour + 10*time.Minute).Sub(now))
}

// TestScheduledSnapshots takes one snapshot for each time, without the memory, and keeps as many as the manifest says. A snapshot that a person took stays, also
// one with the name of the agent's.
func TestScheduledSnapshots(t *testing.T) {
	runLabWithSchedule(t, 2, true, func(t *testing.T, l *lab, p *probe) {
		foreign := order.SnapshotName(time.Now().Truncate(time.Hour).Add(-30 * time.Minute))
		l.asRoot("POST", "/snapshot", "snapname="+foreign)
		l.asRoot("POST", "/snapshot", "snapname=byhand")
		l.sim.ResetCounters()
		for range 5 {
			untilHour()
		}
		names := l.sections()
		if len(names) != 4 {
			t.Fatalf("got snapshots %v, want two of the agent's and two of a person", names)
		}
		for _, name := range []string{foreign, "byhand", order.SnapshotName(time.Now()), order.SnapshotName(time.Now().Add(-time.Hour))} {
			name = strings.TrimSuffix(name, name[max(len(name)-2, 0):]) // minutes differ
			if !strings.Contains(strings.Join(names, " "), name) {
				t.Errorf("got snapshots %v, want one like %s", names, name)
			}
		}
		if text := l.sim.Config(201); strings.Contains(text, "vmstate:") {
			t.Errorf("got config\n%s\nwant no memory in it", text)
		}
		if taken, deleted := l.sim.Effects(201, pvesim.Snapshotted), l.sim.Effects(201, pvesim.SnapshotDeleted); taken != 5 || deleted != 4 {
			t.Errorf("got %d snapshots and %d deletions, want 5 and 4", taken, deleted)
		}
		if writes := p.count(cluster.OpSnapshot, 201) + p.count(cluster.OpDeleteSnapshot, 201); len(l.journal.State().Orders) != 0 || writes != 10 {
			t.Errorf("got %d writes, want 10 and no order", writes)
		}
	})
}

// TestScheduledSnapshotsWaitOrAreLeftOut checks what happens at a time of the schedule when the guest or its storage does not allow a snapshot.
func TestScheduledSnapshotsWaitOrAreLeftOut(t *testing.T) {
	t.Parallel()
	t.Run("paused", func(t *testing.T) {
		runLabWithSchedule(t, 2, true, func(t *testing.T, l *lab, p *probe) {
			l.asRoot("POST", "/status/suspend", "")
			untilHour()
			untilHour()
			if got := l.sections(); len(got) != 1 {
				t.Fatalf("got snapshots %v of a paused guest, want the first one", got)
			}
			l.asRoot("POST", "/status/resume", "")
			time.Sleep(5 * time.Minute)
			if got := l.sections(); len(got) != 2 {
				t.Errorf("got snapshots %v, want one more for both times", got)
			}
		})
	})
	t.Run("stopped agent", func(t *testing.T) {
		runLabWithSchedule(t, 5, false, func(t *testing.T, l *lab, p *probe) {
			l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "/qemu/201/", Kind: pvesim.ProxyStatus, Status: 595, Times: -1}))
			for range 4 {
				untilHour()
			}
			l.sim.ClearFaults()
			time.Sleep(10 * time.Minute)
			if got := l.sections(); len(got) != 2 {
				t.Errorf("got snapshots %v, want one for all the times that passed", got)
			}
		})
	})
	t.Run("storage without snapshots", func(t *testing.T) {
		runLabWithSchedule(t, 2, false, func(t *testing.T, l *lab, p *probe) {
			l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/201/snapshot$", Kind: pvesim.ErrorText, Text: "snapshot feature is not available", Times: 1}))
			before := p.count(cluster.OpSnapshot, 201)
			untilHour()
			l.waitForCondition(201, string(reason.Error), "snapshot feature is not available")
			hour := time.Now().Truncate(time.Hour)
			if got := l.guest(l.engine.Report(), 201).Snapshots; got == nil || got.Schedule != "hourly" || got.Taken != 1 || !got.Newest.Equal(hour.Add(-time.Hour)) || !got.LateSince.Equal(hour) {
				t.Errorf("got %+v in the report, want the snapshot of the hour before, and late since this hour", got)
			}
			time.Sleep(45 * time.Minute)
			if got := p.count(cluster.OpSnapshot, 201) - before; got != 1 || len(l.sections()) != 1 {
				t.Errorf("got %d calls and snapshots %v, want one call", got, l.sections())
			}
			l.converge()
			untilHour()
			if got := l.sections(); len(got) != 2 {
				t.Errorf("got snapshots %v, want that of the next hour", got)
			}
			for _, c := range l.guest(l.engine.Report(), 201).Conditions {
				t.Errorf("got condition %v, want none", c)
			}
			if got := l.guest(l.engine.Report(), 201).Snapshots; !got.LateSince.IsZero() {
				t.Errorf("got %+v in the report, want it not late", got)
			}
		})
	})
	t.Run("locked at the call", func(t *testing.T) {
		runLabWithSchedule(t, 2, false, func(t *testing.T, l *lab, p *probe) {
			l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/201/snapshot$", Kind: pvesim.ErrorText, Text: "VM is locked (backup)", Times: 1}))
			before, due := p.count(cluster.OpSnapshot, 201), l.journal.State().Snapshots[201].Due
			time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour)))
			eventually(l, "the refused call", func() bool { return p.count(cluster.OpSnapshot, 201) > before && len(l.journal.State().Open) == 0 })
			if got := l.journal.State().Snapshots[201]; got.Failed != "" || !got.Due.Equal(due) && len(got.Taken) != 2 {
				t.Errorf("got record %+v, want that of before", got)
			}
			time.Sleep(20 * time.Minute)
			if got := l.sections(); len(got) != 2 || p.count(cluster.OpSnapshot, 201)-before != 2 {
				t.Errorf("got snapshots %v after %d calls, want the second call to succeed", got, p.count(cluster.OpSnapshot, 201)-before)
			}
		})
	})
	t.Run("name is taken", func(t *testing.T) {
		runLabWithSchedule(t, 2, false, func(t *testing.T, l *lab, p *probe) {
			l.asRoot("POST", "/snapshot", "snapname="+order.SnapshotName(time.Now().Truncate(time.Hour).Add(time.Hour)))
			before := p.count(cluster.OpSnapshot, 201)
			untilHour()
			l.waitForCondition(201, string(reason.Error), "already")
			if got := p.count(cluster.OpSnapshot, 201) - before; got != 0 {
				t.Errorf("got %d calls, want none", got)
			}
		})
	})
}

// TestScheduledSnapshotsThatPeopleChanged deletes none whose description is not the agent's any more, and counts none that is gone.
func TestScheduledSnapshotsThatPeopleChanged(t *testing.T) {
	runLabWithSchedule(t, 2, false, func(t *testing.T, l *lab, p *probe) {
		first := l.sections()[0]
		l.asRoot("PUT", "/snapshot/"+first+"/config", "description=mine")
		untilHour()
		second := order.SnapshotName(time.Now().Truncate(time.Hour))
		l.asRoot("DELETE", "/snapshot/"+second, "")
		untilHour()
		untilHour()
		if got := l.sections(); len(got) != 3 || !strings.Contains(strings.Join(got, " "), first) || p.count(cluster.OpDeleteSnapshot, 201) != 0 {
			t.Errorf("got snapshots %v and %d deletions, want %s and the two newest", got, p.count(cluster.OpDeleteSnapshot, 201), first)
		}
		untilHour()
		if got := l.sections(); len(got) != 3 || p.count(cluster.OpDeleteSnapshot, 201) != 1 {
			t.Errorf("got snapshots %v and %d deletions, want one", got, p.count(cluster.OpDeleteSnapshot, 201))
		}
	})
}

// TestScheduleWithSmallerKeep deletes no snapshot that was taken with a larger number, and none after the schedule is removed.
func TestScheduleWithSmallerKeep(t *testing.T) {
	runLabWithSchedule(t, 3, false, func(t *testing.T, l *lab, p *probe) {
		untilHour()
		untilHour()
		l.files["web.yaml"] = vmYAML("web-1", 201, "snapshots: {schedule: hourly, keep: 1}")
		l.push("keep one", alice)
		untilHour()
		if got := l.sections(); len(got) != 3 {
			t.Errorf("got snapshots %v, want three", got)
		}
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("no schedule", alice)
		untilHour()
		untilHour()
		l.waitForCondition(201, string(reason.LeftOver))
		if got := l.sections(); len(got) != 3 {
			t.Errorf("got snapshots %v, want three", got)
		}
		l.converge()
		l.cure(reason.DeleteSnapshots, l.saysOf("VirtualMachine/web-1"), func([]string) {
			l.asRoot("DELETE", "/snapshot/"+l.sections()[0], "")
			for _, name := range l.sections() {
				l.order("delete-snapshot VirtualMachine/web-1 name=" + name)
				l.approve(l.digestOfHold(201))
				eventually(l, "the deletion", func() bool { return !slices.Contains(l.sections(), name) })
			}
		})
	})
}

// TestScheduledSnapshotsOfAContainer takes and deletes those of a container, whose calls differ.
func TestScheduledSnapshotsOfAContainer(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.rareTicks()
		l.files["dns.yaml"] = strings.Replace(dnsYAML("snapshots: {schedule: hourly, keep: 1}"), "{storage: local,", "{storage: local-lvm,", 1)
		l.push("container", alice)
		defer l.start()()
		l.converge()
		for range 3 {
			untilHour()
		}
		text := l.sim.Config(210)
		if want := "[" + order.SnapshotName(time.Now().Truncate(time.Hour)) + "]"; strings.Count(text, "[") != 1 || !strings.Contains(text, want) {
			t.Errorf("got config\n%s\nwant one snapshot %s", text, want)
		}
	})
}

// TestScheduledSnapshotsOnADirectory has a container on a storage without snapshots: there is one call for each time, and the guest counts as converged.
func TestScheduledSnapshotsOnADirectory(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["dns.yaml"] = dnsYAML("snapshots: {schedule: hourly, keep: 1}")
		l.push("container", alice)
		defer l.start()()
		l.converge()
		l.waitForCondition(210, string(reason.Error), "snapshot feature is not available")
		untilHour()
		untilHour()
		if got := l.sim.Counters().Routes["POST /nodes/{node}/lxc/{vmid}/snapshot"]; got != 3 {
			t.Errorf("got %d calls, want one for each of three times", got)
		}
		l.converge()
	})
}

// TestCrashAtScheduledSnapshots crashes the agent around the calls of a schedule. Each has its effect at most once, and nothing else of the guest is lost.
func TestCrashAtScheduledSnapshots(t *testing.T) {
	t.Parallel()
	for _, op := range []cluster.Op{cluster.OpSnapshot, cluster.OpDeleteSnapshot} {
		for _, at := range []string{"before-call", "after-call", "waiting"} {
			t.Run(string(op)+"/"+at, func(t *testing.T) {
				runLab(t, nil, func(t *testing.T, l *lab) {
					l.rareTicks()
					l.files["web.yaml"] = vmYAML("web-1", 201, "snapshots: {schedule: hourly, keep: 1}")
					l.crashAndRecover(op, at, untilFirst(op))
					stop := l.start()
					defer stop()
					time.Sleep(15 * time.Minute)
					untilHour()
					if got := l.sections(); len(got) != 1 || got[0] != order.SnapshotName(time.Now().Truncate(time.Hour)) {
						t.Errorf("got snapshots %v, want the newest one", got)
					}
					taken := l.sim.Effects(201, pvesim.Snapshotted)
					deleted := l.sim.Effects(201, pvesim.SnapshotDeleted)
					if taken > 3 || deleted < taken-1 || deleted > taken {
						t.Errorf("got %d snapshots and %d deletions, want each time at most once", taken, deleted)
					}
				})
			})
		}
	}
}

// untilFirst lets the agent take its first snapshots, so that the next call of the operation is that of a later time.
func untilFirst(op cluster.Op) func(l *lab) {
	return func(l *lab) {
		if op == cluster.OpSnapshot {
			time.Sleep(time.Hour)
			return
		}
		stop := l.start()
		time.Sleep(20 * time.Minute)
		stop()
		time.Sleep(time.Hour)
	}
}
