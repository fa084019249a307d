package reconcile_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

const (
	snapshotWeb1 = "snapshot" + web1 + " name=s1"
	rollbackWeb1 = "rollback" + web1 + " name=s1"
	deleteWeb1   = "delete-snapshot" + web1 + " name=s1"
)

// asRoot makes a call of an administrator about web-1.
func (l *lab) asRoot(method, path, form string) {
	l.Helper()
	l.callAs("root@pam!full", method, "/nodes/pve1/qemu/201"+path, form)
	time.Sleep(time.Minute)
}

// snapshotOf takes a snapshot s1 of a guest that has another configuration at that moment.
func (l *lab) snapshotOf(vmid int, edit func(c map[string]string)) {
	l.Helper()
	before := make(map[string]string)
	l.ok(l.sim.EditConfig(vmid, func(c map[string]string) { maps.Copy(before, c); edit(c) }))
	kind := "qemu"
	if before["rootfs"] != "" {
		kind = "lxc"
	}
	l.callAs("root@pam!full", "POST", fmt.Sprintf("/nodes/pve1/%s/%d/snapshot", kind, vmid), "snapname=s1")
	for _, task := range l.sim.Tasks() {
		for deadline := 0; task.Active && deadline < 100; deadline++ {
			time.Sleep(10 * time.Millisecond)
			task = l.sim.Tasks()[len(l.sim.Tasks())-1]
		}
	}
	l.ok(l.sim.EditConfig(vmid, func(c map[string]string) {
		parent := c["parent"]
		clear(c)
		maps.Copy(c, before)
		c["parent"] = parent
	}))
	time.Sleep(3 * time.Minute)
	l.converge()
	l.sim.ResetCounters()
}

// heldMessage returns the message of the only held step of a guest.
func (l *lab) heldMessage(vmid int) string {
	l.Helper()
	g := l.guest(l.engine.Report(), vmid)
	if len(g.Held) != 1 {
		l.Fatalf("got %+v, want one held step", g.Held)
	}
	return g.Held[0].Message
}

// callsSince returns the calls from the first one of an operation on.
func (p *probe) callsSince(op cluster.Op) []cluster.Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.calls, func(c cluster.Call) bool { return c.Op == op })
	if i < 0 {
		return nil
	}
	return slices.Clone(p.calls[i:])
}

// TestOrderedSnapshot takes a snapshot, which names its order, and deletes it with an approval.
func TestOrderedSnapshot(t *testing.T) {
	runLabWithOrders(t, nil, true, func(t *testing.T, l *lab, p *probe) {
		run := snapshotWeb1 + " vmstate=yes"
		l.order(run)
		o := l.waitForOrder(run, journal.OrderRun)
		if text := l.sim.Config(201); !strings.Contains(text, "[s1]") || !strings.Contains(text, o.Key) || !strings.Contains(text, "vmstate:") {
			t.Errorf("got config\n%s\nwant the snapshot with the memory and the key %s", text, o.Key)
		}
		l.order(snapshotWeb1)
		if o := l.waitForOrder(snapshotWeb1, journal.OrderRefused); !strings.Contains(o.Why, "has a snapshot s1 already") {
			t.Errorf("got %q, want that the name is taken", o.Why)
		}
		l.order(deleteWeb1)
		digest := l.digestOfHold(201)
		if got := l.heldMessage(201); !strings.Contains(got, "deletes the snapshot s1 2000-") {
			t.Errorf("got %q, want the snapshot with its time", got)
		}
		time.Sleep(time.Hour)
		if got := p.count(cluster.OpDeleteSnapshot, 201); got != 0 {
			t.Fatalf("got %d calls without an approval, want none", got)
		}
		l.approve(digest)
		l.waitForOrder(deleteWeb1, journal.OrderRun)
		time.Sleep(time.Hour)
		if strings.Contains(l.sim.Config(201), "[s1]") || l.sim.Effects(201, pvesim.SnapshotDeleted) != 1 || l.sim.Effects(201, pvesim.Snapshotted) != 1 {
			t.Errorf("got config\n%s\nwant no snapshot", l.sim.Config(201))
		}
		l.order(rollbackWeb1)
		if o := l.waitForOrder(rollbackWeb1, journal.OrderRefused); !strings.Contains(o.Why, "no snapshot s1: it has none") {
			t.Errorf("got %q, want that there is none", o.Why)
		}
	})
}

// TestOrderedSnapshotOfTheMemoryOfAStoppedGuest asks for what Proxmox would leave out without a word.
func TestOrderedSnapshotOfTheMemoryOfAStoppedGuest(t *testing.T) {
	runLabWithOrders(t, nil, false, func(t *testing.T, l *lab, p *probe) {
		run := snapshotWeb1 + " vmstate=yes"
		l.order(run)
		if o := l.waitForOrder(run, journal.OrderRefused); !strings.Contains(o.Why, "no memory to save") || p.count(cluster.OpSnapshot, 201) != 0 {
			t.Errorf("got %q and %d calls, want a refusal", o.Why, p.count(cluster.OpSnapshot, 201))
		}
	})
}

// TestOrderedSnapshotThatFails makes the task fail on a storage without snapshots, and leaves a lock behind as Proxmox does for a running machine.
func TestOrderedSnapshotThatFails(t *testing.T) {
	runLabWithOrders(t, nil, true, func(t *testing.T, l *lab, p *probe) {
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/201/snapshot$", Kind: pvesim.TaskFails, Text: "snapshot feature is not available", Times: -1}))
		l.order(snapshotWeb1)
		if o := l.waitForOrder(snapshotWeb1, journal.OrderFailed); !strings.Contains(o.Why, "snapshot feature is not available") || !strings.Contains(o.Log, "not available") {
			t.Errorf("got %q, want the error of the task", o.Why)
		}
		l.waitForCondition(201, string(plan.Blocked)+" "+string(reason.Locked))
		time.Sleep(time.Hour)
		if got := p.count(cluster.OpSnapshot, 201); got != 1 {
			t.Errorf("got %d calls, want one", got)
		}
	})
}

// TestOrderedRollback goes back to a snapshot without the ownership tag and the protection, and with another size of memory. The guest has its marks again before
// anything starts it, and then becomes what its manifest says.
func TestOrderedRollback(t *testing.T) {
	runLabWithOrders(t, []string{"state: running", "memory: {size: 2Gi}", "lifecycle: {protection: true}"}, true, func(t *testing.T, l *lab, p *probe) {
		tags := l.sim.Value(201, "tags")
		l.snapshotOf(201, func(c map[string]string) { c["tags"] = "template"; delete(c, "protection"); c["memory"] = "1024" })
		l.order(rollbackWeb1)
		digest := l.digestOfHold(201)
		for _, want := range []string{"since the snapshot s1 2000-", `tags: "` + tags + `" -> "template"`, "memory", "the guest is protected in Proxmox"} {
			if got := l.heldMessage(201); !strings.Contains(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		l.approve(digest)
		l.waitForOrder(rollbackWeb1, journal.OrderRun)
		l.converge()
		if got := l.sim.Config(201); l.sim.Value(201, "tags") != tags || l.sim.Value(201, "protection") != "1" || l.sim.Value(201, "memory") != "2048" || !l.sim.Running(201) {
			t.Errorf("got config\n%s\nrunning %t, want what the manifest says", got, l.sim.Running(201))
		}
		if calls := p.callsSince(cluster.OpRollback); len(calls) < 3 || calls[1].Op != cluster.OpConfig || calls[1].Params["tags"] != tags || calls[1].Params["protection"] != "1" {
			t.Errorf("got calls %v, want the marks restored after the rollback, before anything else", calls)
		}
		if got := l.sim.Effects(201, pvesim.RolledBack); got != 1 {
			t.Errorf("got %d rollbacks, want one", got)
		}
	})
}

// TestOrderedRollbackOfAContainer goes back to a snapshot without the tag, by which alone a container is identified.
func TestOrderedRollbackOfAContainer(t *testing.T) {
	runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
		l.trustOtto()
		l.files["dns.yaml"] = strings.Replace(dnsYAML("state: running"), "storage: local,", "storage: local-lvm,", 1)
		l.push("a container", alice)
		defer l.start()()
		l.converge()
		tags := l.sim.Value(210, "tags")
		l.snapshotOf(210, func(c map[string]string) { delete(c, "tags") })
		run := "rollback Container/dns-1 name=s1"
		l.order(run)
		l.approve(l.digestOfHold(210))
		l.waitForOrder(run, journal.OrderRun)
		l.converge()
		time.Sleep(time.Hour)
		if got := l.sim.Value(210, "tags"); got != tags || !l.sim.Running(210) || l.sim.Effects(210, pvesim.RolledBack) != 1 {
			t.Errorf("got tags %q, running %t, %d rollbacks, want %q, true, one", got, l.sim.Running(210), l.sim.Effects(210, pvesim.RolledBack), tags)
		}
	})
}

// TestApprovedRollbackToAnotherSnapshot replaces the snapshot by one with the same name after the approval.
func TestApprovedRollbackToAnotherSnapshot(t *testing.T) {
	runLabWithOrders(t, nil, true, func(t *testing.T, l *lab, p *probe) {
		l.asRoot("POST", "/snapshot", "snapname=s1")
		l.order(rollbackWeb1)
		digest := l.digestOfHold(201)
		l.ok(l.sim.EditFile(201, func(text string) string { return strings.Replace(text, "\nsnaptime: 9", "\nsnaptime: 8", 1) }))
		l.approve(digest)
		time.Sleep(2 * time.Hour)
		if got := l.orderOf(rollbackWeb1); got.State != journal.OrderSeen || p.count(cluster.OpRollback, 201) != 0 {
			t.Errorf("got order %+v and %d calls, want it held", got, p.count(cluster.OpRollback, 201))
		}
		if got := l.digestOfHold(201); got == digest {
			t.Errorf("got digest %s again, want another one for another snapshot", got)
		}
	})
}

// TestRollbackThatIsRefused goes back where that is not safe, or not possible.
func TestRollbackThatIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		edit func(c map[string]string) // of the snapshot
		file func(text string) string  // afterwards
		why  string
	}{
		"another_uuid": {edit: func(c map[string]string) { c["smbios1"] = "uuid=11111111-2222-3333-4444-555555555555" }, why: "another SMBIOS uuid"},
		"incomplete": {file: func(text string) string {
			return strings.Replace(text, "\nsnaptime: ", "\nsnapstate: prepare\nsnaptime: ", 1)
		}, why: "incomplete (prepare)"},
	} {
		t.Run(name, func(t *testing.T) {
			runLabWithOrders(t, nil, true, func(t *testing.T, l *lab, p *probe) {
				edit := test.edit
				if edit == nil {
					edit = func(map[string]string) {}
				}
				l.snapshotOf(201, edit)
				if test.file != nil {
					l.ok(l.sim.EditFile(201, test.file))
				}
				l.order(rollbackWeb1)
				if o := l.waitForOrder(rollbackWeb1, journal.OrderRefused); !strings.Contains(o.Why, test.why) || p.count(cluster.OpRollback, 201) != 0 {
					t.Errorf("got %q and %d calls, want a refusal with %q", o.Why, p.count(cluster.OpRollback, 201), test.why)
				}
			})
		})
	}
}

// crashDuringRollback stops the agent between the task of the rollback and the call that restores the marks.
type crashDuringRollback struct {
	cluster.Cluster
	crashed atomic.Bool
}

func (c *crashDuringRollback) Do(ctx context.Context, call cluster.Call, check cluster.LastCheck) (string, error) {
	if call.Op == cluster.OpConfig && call.VMID == 210 {
		c.crashed.Store(true)
	}
	if c.crashed.Load() {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return c.Cluster.Do(ctx, call, check)
}

// TestCrashDuringARollback crashes the agent when the guest has lost its marks. The next process restores them before it does anything else.
func TestCrashDuringARollback(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.trustOtto()
		l.files["dns.yaml"] = strings.Replace(dnsYAML("state: running"), "storage: local,", "storage: local-lvm,", 1)
		l.push("a container", alice)
		stop := l.start()
		l.converge()
		tags := l.sim.Value(210, "tags")
		l.snapshotOf(210, func(c map[string]string) { delete(c, "tags") })
		run := "rollback Container/dns-1 name=s1"
		l.order(run)
		digest := l.digestOfHold(210)
		stop()
		l.approve(digest)
		c := &crashDuringRollback{Cluster: l.cluster}
		l.opts.Cluster = c
		stop = l.start()
		eventually(l, "the crash", c.crashed.Load)
		stop()
		if got := l.sim.Value(210, "tags"); got != "" || l.sim.Running(210) {
			t.Fatalf("got tags %q, running %t, want neither", got, l.sim.Running(210))
		}
		l.opts.Cluster = l.cluster
		defer l.start()()
		l.waitForOrder(run, journal.OrderRun)
		l.converge()
		if got := l.sim.Value(210, "tags"); got != tags || !l.sim.Running(210) || l.sim.Effects(210, pvesim.RolledBack) != 1 {
			t.Errorf("got tags %q, running %t, %d rollbacks, want %q, true, one", got, l.sim.Running(210), l.sim.Effects(210, pvesim.RolledBack), tags)
		}
	})
}

// TestSnapshotOfAForeignVolume refuses to take a snapshot of a volume that another guest uses.
func TestSnapshotOfAForeignVolume(t *testing.T) {
	runLabWithOrders(t, nil, false, func(t *testing.T, l *lab, p *probe) {
		_, err := l.sim.AddVM(pvesim.Guest{VMID: 300, Node: "pve1", Config: "name: other\nscsi0: local-lvm:vm-300-disk-0,size=4G\n"})
		l.ok(err)
		l.ok(l.sim.Edit(201, "scsi1", "local-lvm:vm-300-disk-0,size=4G"))
		time.Sleep(3 * time.Minute)
		l.order(snapshotWeb1)
		time.Sleep(time.Hour)
		g := l.guest(l.engine.Report(), 201)
		if got := l.sim.Effects(201, pvesim.Snapshotted); got != 0 || !hasCondition(g, plan.Blocked, reason.InUse) {
			t.Errorf("got %d snapshots and %+v, want a refusal", got, g.Conditions)
		}
	})
}
