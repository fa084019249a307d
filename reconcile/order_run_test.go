package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/verify"
)

// otto may order operations, and neither change files nor approve.
var otto = sigtest.Identity{Subject: "otto@lab.test", Issuer: "https://issuer.test"}

// trustOtto adds otto to the policy.
func (l *lab) trustOtto() {
	l.Helper()
	signer := func(who sigtest.Identity, role verify.Role) verify.Signer {
		return verify.Signer{Name: who.Subject, Issuer: who.Issuer, Subject: who.Subject, May: []verify.Role{role}}
	}
	l.trustSigners(signer(alice, verify.RoleChange), signer(olga, verify.RoleApprove), signer(otto, verify.RoleOperate))
}

// order pushes otto's order of a one-shot operation.
func (l *lab) order(run string) {
	l.Helper()
	l.waitForAcceptance(l.push("Operate\n\n"+order.RunPrefix+run+"\nGitops-Target: home/main\n", otto))
}

// orderPrinted pushes the order that a printed command makes.
func (l *lab) orderPrinted(command string) {
	l.Helper()
	run, is := strings.CutPrefix(command, "gitops-agent order ")
	if !is {
		l.Fatalf("got the command %q, want an order", command)
	}
	l.order(run)
}

// endTasks aborts the tasks of node pve1 that run, as a person would.
func (l *lab) endTasks() {
	l.Helper()
	for _, task := range l.sim.Tasks() {
		if task.Active {
			l.callAs("root@pam!full", "DELETE", "/nodes/pve1/tasks/"+task.UPID, "")
		}
	}
}

// orderOf returns an order from the journal by its text.
func (l *lab) orderOf(run string) journal.Order {
	l.Helper()
	for _, o := range l.journal.State().Orders {
		if o.Order == order.RunPrefix+run {
			return o
		}
	}
	l.Fatalf("got no order %q in the journal, want one", run)
	return journal.Order{}
}

// waitForOrder waits until an order has a state.
func (l *lab) waitForOrder(run string, state journal.OrderState) journal.Order {
	l.Helper()
	eventually(l, "order "+run+" "+string(state), func() bool { return l.orderOf(run).State == state })
	return l.orderOf(run)
}

// runLabWithOrders runs a test from the moment at which web-1 has converged.
func runLabWithOrders(t *testing.T, lines []string, running bool, test func(t *testing.T, l *lab, p *probe)) {
	t.Helper()
	runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
		l.rareTicks()
		l.trustOtto()
		l.files["web.yaml"] = vmYAML("web-1", 201, lines...)
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.SetRunning(201, running))
		time.Sleep(5 * time.Minute)
		l.sim.ResetCounters()
		test(t, l, p)
	})
}

const web1 = " VirtualMachine/web-1"

// TestOrdersOfTheRunState orders each operation once. It has its effect once, also after many further polls.
func TestOrdersOfTheRunState(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		run        string
		running    bool
		prepare    func(l *lab)
		approve    bool
		op         cluster.Op
		effect     pvesim.Op
		runs, isUp bool // afterwards
	}{
		"start":    {run: "start" + web1, op: cluster.OpStart, effect: pvesim.Started, isUp: true},
		"shutdown": {run: "shutdown" + web1 + " timeout=90s", running: true, op: cluster.OpShutdown, effect: pvesim.Stopped},
		"reboot":   {run: "reboot" + web1, running: true, op: cluster.OpReboot, effect: pvesim.Stopped, isUp: true},
		"force":    {run: "shutdown" + web1 + " timeout=1s force=yes", running: true, approve: true, op: cluster.OpShutdown, effect: pvesim.Stopped},
		"stop":     {run: "stop" + web1, running: true, approve: true, op: cluster.OpStop, effect: pvesim.Stopped},
		"reset":    {run: "reset" + web1, running: true, approve: true, op: cluster.OpReset, effect: pvesim.Reset, isUp: true},
		"suspend":  {run: "suspend" + web1, running: true, op: cluster.OpSuspend, effect: pvesim.Paused, isUp: true},
		"resume": {
			run: "resume" + web1, running: true, op: cluster.OpResume, effect: pvesim.Resumed, isUp: true,
			prepare: func(l *lab) { l.callAs("root@pam!full", "POST", "/nodes/pve1/qemu/201/status/suspend", "") },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithOrders(t, nil, test.running, func(t *testing.T, l *lab, p *probe) {
				if test.prepare != nil {
					test.prepare(l)
					time.Sleep(time.Minute)
				}
				l.order(test.run)
				if test.approve {
					digest := l.digestOfHold(201)
					time.Sleep(10 * time.Minute)
					if got := p.count(test.op, 201); got != 0 {
						t.Fatalf("got %d calls without an approval, want none", got)
					}
					l.approve(digest)
				}
				o := l.waitForOrder(test.run, journal.OrderRun)
				if o.UPID == "" || o.Step == "" || o.VMID != 201 || o.Why != "" {
					t.Errorf("got %+v, want its step and task", o)
				}
				time.Sleep(time.Hour)
				if got := p.count(test.op, 201); got != 1 || l.sim.Effects(201, test.effect) != 1 || l.sim.Running(201) != test.isUp {
					t.Errorf("got %d calls, %d times %s, running %t, want one, once, %t", got, l.sim.Effects(201, test.effect), test.effect, l.sim.Running(201), test.isUp)
				}
				l.waitForOrder(test.run, journal.OrderRun)
			})
		})
	}
}

// TestOrdersThatTheGuestRefuses orders what the run state does not allow. The order ends without a call.
func TestOrdersThatTheGuestRefuses(t *testing.T) {
	t.Parallel()
	pause := func(l *lab) { l.callAs("root@pam!full", "POST", "/nodes/pve1/qemu/201/status/suspend", "") }
	tests := map[string]struct {
		run     string
		running bool
		prepare func(l *lab)
		approve bool
		why     string
	}{
		"start_of_a_running_guest":    {"start" + web1, true, nil, false, "not stopped"},
		"shutdown_of_a_stopped_guest": {"shutdown" + web1, false, nil, false, "the guest is stopped"},
		"reboot_of_a_stopped_guest":   {"reboot" + web1, false, nil, false, "the guest is stopped"},
		"reset_of_a_stopped_guest":    {"reset" + web1, false, nil, false, "the guest is stopped"},
		"resume_of_a_running_guest":   {"resume" + web1, true, nil, false, "not paused"},
		"shutdown_of_a_paused_guest":  {"shutdown" + web1, true, pause, false, "the guest is paused"},
		"reset_of_a_paused_guest":     {"reset" + web1, true, pause, true, "the guest is paused"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithOrders(t, nil, test.running, func(t *testing.T, l *lab, p *probe) {
				if test.prepare != nil {
					test.prepare(l)
					time.Sleep(5 * time.Minute)
				}
				l.order(test.run)
				if test.approve {
					l.approve(l.digestOfHold(201))
				}
				if o := l.waitForOrder(test.run, journal.OrderRefused); !strings.Contains(o.Why, test.why) {
					t.Errorf("got %q, want a reason with %q", o.Why, test.why)
				}
				if got := p.count(cluster.Op(strings.Fields(test.run)[0]), 201); got != 0 {
					t.Errorf("got %d calls, want none", got)
				}
			})
		})
	}
}

// TestOrderOfALockedGuestWaits locks the guest. The order waits, and is executed once afterwards.
func TestOrderOfALockedGuestWaits(t *testing.T) {
	runLabWithOrders(t, nil, true, func(t *testing.T, l *lab, p *probe) {
		l.ok(l.sim.Edit(201, "lock", "backup"))
		time.Sleep(2 * time.Minute)
		l.order("reboot" + web1)
		time.Sleep(time.Hour)
		if got := l.orderOf("reboot" + web1).State; got != journal.OrderSeen || p.count(cluster.OpReboot, 201) != 0 {
			t.Errorf("got order %s and %d calls, want it to wait", got, p.count(cluster.OpReboot, 201))
		}
		l.ok(l.sim.EditConfig(201, func(c map[string]string) { delete(c, "lock") }))
		l.waitForOrder("reboot"+web1, journal.OrderRun)
		if got := l.sim.Effects(201, pvesim.Stopped); got != 1 {
			t.Errorf("got %d restarts, want one", got)
		}
	})
}

// TestOrderWhoseTaskFails makes the task fail. The order has failed with the last lines of the task, and is not tried again.
func TestOrderWhoseTaskFails(t *testing.T) {
	runLabWithOrders(t, nil, false, func(t *testing.T, l *lab, p *probe) {
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/status/start$", Kind: pvesim.TaskFails, Text: "no space left", Times: -1}))
		l.order("start" + web1)
		o := l.waitForOrder("start"+web1, journal.OrderFailed)
		if !strings.Contains(o.Why, "no space left") || !strings.Contains(o.Log, "no space left") || o.UPID == "" {
			t.Errorf("got why %q, log %q and task %q, want the error of the task", o.Why, o.Log, o.UPID)
		}
		time.Sleep(time.Hour)
		if got := p.count(cluster.OpStart, 201); got != 1 {
			t.Errorf("got %d calls, want one", got)
		}
	})
}

// TestOrderThatProxmoxRefuses pauses the guest between the last check and the call: Proxmox answers 500 at once. The order has failed.
func TestOrderThatProxmoxRefuses(t *testing.T) {
	runLabWithOrders(t, nil, true, func(t *testing.T, l *lab, p *probe) {
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/status/shutdown$", Kind: pvesim.ErrorText, Text: "VM is paused - cannot shutdown", Times: -1}))
		l.order("shutdown" + web1)
		if o := l.waitForOrder("shutdown"+web1, journal.OrderFailed); !strings.Contains(o.Why, "VM is paused") {
			t.Errorf("got %q, want the refusal", o.Why)
		}
		time.Sleep(time.Hour)
		if got := p.count(cluster.OpShutdown, 201); got != 1 {
			t.Errorf("got %d calls, want one", got)
		}
	})
}

// TestOrderWhoseTaskHangs never ends the task. The guest is blocked, and the order ends with the task.
func TestOrderWhoseTaskHangs(t *testing.T) {
	runLabWithOrders(t, nil, false, func(t *testing.T, l *lab, p *probe) {
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/status/start$", Kind: pvesim.TaskNeverEnds}))
		l.order("start" + web1)
		l.waitForCondition(201, string(plan.Blocked)+" "+string(reason.TaskHangs))
		if got := l.orderOf("start" + web1).State; got != journal.OrderReleased {
			t.Errorf("got order %s, want it released", got)
		}
		l.endTasks()
		l.waitForOrder("start"+web1, journal.OrderFailed)
		if got := p.count(cluster.OpStart, 201); got != 1 {
			t.Errorf("got %d calls, want one", got)
		}
	})
}

// TestOrderWithoutReply loses the reply to an order, with and without the effect. It is executed if there is a task, and unknown after the wait if there is
// none. It is never repeated.
func TestOrderWithoutReply(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault pvesim.FaultKind
		want  journal.OrderState
		times int
	}{
		"acted":     {pvesim.DropAfter, journal.OrderRun, 1},
		"not_acted": {pvesim.DropBefore, journal.OrderUnknown, 0},
	} {
		t.Run(name, func(t *testing.T) {
			runLabWithOrders(t, nil, true, func(t *testing.T, l *lab, p *probe) {
				l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/status/reboot$", Kind: test.fault}))
				l.order("reboot" + web1)
				l.waitForOrder("reboot"+web1, test.want)
				time.Sleep(2 * time.Hour)
				if got := l.sim.Effects(201, pvesim.Stopped); got != test.times || p.count(cluster.OpReboot, 201) != 1 {
					t.Errorf("got %d restarts of %d calls, want %d of one", got, p.count(cluster.OpReboot, 201), test.times)
				}
				l.waitForOrder("reboot"+web1, test.want)
			})
		})
	}
}

// TestCrashAroundAnOrder crashes the agent around the call of an order. The order has its effect at most once: none if the call was not sent.
func TestCrashAroundAnOrder(t *testing.T) {
	t.Parallel()
	losing := []cluster.Op{cluster.OpDeleteSnapshot, cluster.OpRollback, cluster.OpStop, cluster.OpReset}
	for name, test := range map[string]struct {
		op     cluster.Op
		run    string
		effect pvesim.Op
		up     bool
	}{
		"start":    {cluster.OpStart, "start" + web1, pvesim.Started, false},
		"shutdown": {cluster.OpShutdown, "shutdown" + web1, pvesim.Stopped, true},
		"reboot":   {cluster.OpReboot, "reboot" + web1, pvesim.Stopped, true},
		"suspend":  {cluster.OpSuspend, "suspend" + web1, pvesim.Paused, true},
		"resume":   {cluster.OpResume, "resume" + web1, pvesim.Resumed, true},
		"stop":     {cluster.OpStop, "stop" + web1, pvesim.Stopped, true},
		"reset":    {cluster.OpReset, "reset" + web1, pvesim.Reset, true},
		"snapshot": {cluster.OpSnapshot, snapshotWeb1, pvesim.Snapshotted, true},
		"backup":   {cluster.OpBackup, backupWeb1, pvesim.BackedUp, true},
		"delete":   {cluster.OpDeleteSnapshot, deleteWeb1, pvesim.SnapshotDeleted, true},
		"rollback": {cluster.OpRollback, rollbackWeb1, pvesim.RolledBack, true},
	} {
		for _, at := range []string{"before-call", "after-call", "waiting"} {
			t.Run(name+"/"+at, func(t *testing.T) {
				runLab(t, nil, func(t *testing.T, l *lab) {
					l.trustOtto()
					l.files["web.yaml"] = vmYAML("web-1", 201)
					l.crashAndRecover(test.op, at, func(l *lab) {
						l.ok(l.sim.SetRunning(201, test.up))
						time.Sleep(2 * time.Minute)
						l.sim.ResetCounters()
						if strings.Contains(test.run, "name=s1") && test.op != cluster.OpSnapshot {
							l.asRoot("POST", "/snapshot", "snapname=s1")
							l.sim.ResetCounters()
						}
						if test.op == cluster.OpResume {
							l.asRoot("POST", "/status/suspend", "")
						}
						l.push("Operate\n\nGitops-Run: "+test.run+"\nGitops-Target: home/main\n", otto)
						if slices.Contains(losing, test.op) {
							stop := l.start()
							digest := l.digestOfHold(201)
							stop()
							l.approve(digest)
						}
					})
					want, times := journal.OrderRun, 1
					if at == "before-call" {
						want, times = journal.OrderUnknown, 0
					}
					l.open()
					defer l.close()
					if got := l.orderOf(test.run).State; got != want || l.sim.Effects(201, test.effect) != times {
						t.Errorf("got order %s and %d times %s, want %s and %d", got, l.sim.Effects(201, test.effect), test.effect, want, times)
					}
				})
			})
		}
	}
}

// TestOrdersAgainstTheManifest orders what the field state contradicts. Without for= the order is refused. With it, the order overrides the manifest until its
// time is over, and then the agent brings the guest back.
func TestOrdersAgainstTheManifest(t *testing.T) {
	runLabWithOrders(t, []string{"state: running"}, true, func(t *testing.T, l *lab, p *probe) {
		l.order("shutdown" + web1)
		if o := l.waitForOrder("shutdown"+web1, journal.OrderRefused); !strings.Contains(o.Why, "for=2h") {
			t.Errorf("got %q, want a hint at for=", o.Why)
		}
		l.order("shutdown" + web1 + " for=2h")
		l.waitForOrder("shutdown"+web1+" for=2h", journal.OrderRun)
		l.waitForCondition(201, string(plan.Warned)+" "+string(reason.Overridden))
		time.Sleep(100 * time.Minute)
		if g := l.guest(l.engine.Report(), 201); l.sim.Running(201) || g.Sync != "Synced" {
			t.Errorf("got running %t and %s, want it down and in sync during the override", l.sim.Running(201), g.Sync)
		}
		time.Sleep(30 * time.Minute)
		if g := l.guest(l.engine.Report(), 201); !l.sim.Running(201) || hasCondition(g, plan.Warned, reason.Overridden) || len(l.journal.State().Overridden) != 0 {
			t.Errorf("got running %t, %+v and %v, want it up without an override", l.sim.Running(201), g.Conditions, l.journal.State().Overridden)
		}
	})
}

// TestOrderEndsAnOverride starts the guest before the time of the override is over.
func TestOrderEndsAnOverride(t *testing.T) {
	runLabWithOrders(t, []string{"state: running"}, true, func(t *testing.T, l *lab, p *probe) {
		l.order("shutdown" + web1 + " for=2h")
		l.waitForOrder("shutdown"+web1+" for=2h", journal.OrderRun)
		l.order("start" + web1)
		l.waitForOrder("start"+web1, journal.OrderRun)
		if got := l.journal.State().Overridden; len(got) != 0 || !l.sim.Running(201) {
			t.Errorf("got %v and running %t, want no override of a running guest", got, l.sim.Running(201))
		}
	})
}

// TestOverrideSurvivesARestart restarts the agent during an override.
func TestOverrideSurvivesARestart(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.rareTicks()
		l.trustOtto()
		l.files["web.yaml"] = vmYAML("web-1", 201, "state: running")
		l.push("one guest", alice)
		stop := l.start()
		l.converge()
		l.order("shutdown" + web1 + " for=2h")
		l.waitForOrder("shutdown"+web1+" for=2h", journal.OrderRun)
		stop()
		defer l.start()()
		time.Sleep(time.Hour)
		if l.sim.Running(201) {
			t.Error("got the guest started during the override, want it down")
		}
		time.Sleep(2 * time.Hour)
		if !l.sim.Running(201) {
			t.Error("got the guest down after the override, want it started")
		}
	})
}

// TestRefusedCallEndsTheOverride makes the shutdown fail. The override does not begin to matter: the manifest is in effect.
func TestRefusedCallEndsTheOverride(t *testing.T) {
	runLabWithOrders(t, []string{"state: running"}, true, func(t *testing.T, l *lab, p *probe) {
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/status/shutdown$", Kind: pvesim.TaskFails, Text: "no"}))
		l.order("shutdown" + web1 + " for=2h")
		l.waitForOrder("shutdown"+web1+" for=2h", journal.OrderFailed)
		if got := l.journal.State().Overridden; len(got) != 0 {
			t.Errorf("got %v, want no override", got)
		}
	})
}

// TestUnusedOrderExpires holds an order for more than seven days.
func TestUnusedOrderExpires(t *testing.T) {
	slowly := func(o *reconcile.Options) { o.Poll, o.Tick, o.Resync = time.Hour, time.Hour, time.Hour }
	runLabWithProbe(t, []labOption{slowly}, func(t *testing.T, l *lab, p *probe) {
		l.trustOtto()
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		defer l.start()()
		time.Sleep(3 * time.Hour)
		l.ok(l.sim.SetRunning(201, true))
		l.push("Operate\n\nGitops-Run: stop"+web1+"\nGitops-Target: home/main\n", otto)
		time.Sleep(3 * time.Hour)
		l.digestOfHold(201)
		time.Sleep(8 * 24 * time.Hour)
		if got := l.orderOf("stop" + web1).State; got != journal.OrderExpired || p.count(cluster.OpStop, 201) != 0 {
			t.Errorf("got order %s and %d calls, want it expired", got, p.count(cluster.OpStop, 201))
		}
		if g := l.guest(l.engine.Report(), 201); len(g.Held) != 0 {
			t.Errorf("got %+v, want nothing held", g.Held)
		}
		if o := l.reportedOrder("stop" + web1); o.State != journal.OrderExpired || o.Why == "" || !strings.Contains(o.Hint, "sign a new order") || o.Digest != "" {
			t.Errorf("got %+v, want it expired with a reason", o)
		}
	})
}

// TestOrderOfARemovedManifest removes the manifest while the order waits.
func TestOrderOfARemovedManifest(t *testing.T) {
	runLabWithOrders(t, nil, true, func(t *testing.T, l *lab, p *probe) {
		l.files["keep.yaml"] = vmYAML("keep-1", 202)
		l.push("another guest", alice)
		l.converge()
		l.order("stop" + web1)
		l.digestOfHold(201)
		delete(l.files, "web.yaml")
		l.push("remove web-1", alice)
		if o := l.waitForOrder("stop"+web1, journal.OrderRefused); !strings.Contains(o.Why, "no manifest") {
			t.Errorf("got %q, want the reason", o.Why)
		}
	})
}

// TestOrdersOfOneGuestRunInOrder gives two orders in one commit.
func TestOrdersOfOneGuestRunInOrder(t *testing.T) {
	runLabWithOrders(t, nil, true, func(t *testing.T, l *lab, p *probe) {
		l.order("shutdown" + web1)
		l.order("start" + web1)
		l.waitForOrder("start"+web1, journal.OrderRun)
		l.waitForOrder("shutdown"+web1, journal.OrderRun)
		if !l.sim.Running(201) || l.sim.Effects(201, pvesim.Stopped) != 1 || l.sim.Effects(201, pvesim.Started) != 1 {
			t.Errorf("got running %t, want it shut down and started, once each", l.sim.Running(201))
		}
	})
}

// TestOrderInARewrittenWrapper serves the commit of an order under two ids, with two valid signatures of the same payload. The order is executed once.
func TestOrderInARewrittenWrapper(t *testing.T) {
	runLabWithOrders(t, nil, true, func(t *testing.T, l *lab, p *probe) {
		spec := sigtest.CommitSpec{Tree: l.repo.Tree(), Message: "Operate\n\nGitops-Run: reboot" + web1 + "\nGitops-Target: home/main\n", Parents: []string{l.repo.Tip}}
		raw, other, err := l.sig.Commit(spec, otto, sigtest.SignOptions{})
		l.ok(err)
		l.repo.Place(raw, other)
		raw, served, err := l.sig.Commit(spec, otto, sigtest.SignOptions{})
		l.ok(err)
		l.repo.Place(raw, served)
		l.engine.Hint()
		l.waitForAcceptance(served)
		l.waitForOrder("reboot"+web1, journal.OrderRun)
		l.repo.SetMain(other)
		l.repo.Tip = other
		l.files["db.yaml"] = vmYAML("db-1", 202)
		l.waitForAcceptance(l.push("another guest", alice))
		l.converge()
		time.Sleep(time.Hour)
		if got := p.count(cluster.OpReboot, 201); got != 1 || len(l.journal.State().Orders) != 1 {
			t.Errorf("got %d restarts for %d orders, want one for one", got, len(l.journal.State().Orders))
		}
	})
}

// TestOrderWithoutEffectKeepsTheOverride makes a second override fail, and the order that would end the first one. The first one stays.
func TestOrderWithoutEffectKeepsTheOverride(t *testing.T) {
	t.Parallel()
	for _, run := range []string{"start" + web1 + " for=3h", "shutdown" + web1 + " for=3h"} {
		t.Run(run, func(t *testing.T) {
			op, state, undo := "start", "stopped", "shutdown"
			if strings.HasPrefix(run, "shutdown") {
				op, state, undo = "shutdown", "running", "start"
			}
			runLabWithOrders(t, []string{"state: " + state}, state == "running", func(t *testing.T, l *lab, p *probe) {
				l.order(run)
				l.waitForOrder(run, journal.OrderRun)
				before := l.journal.State().Overridden[201]
				l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/status/" + undo + "$", Kind: pvesim.TaskFails, Text: "no"}))
				l.order(undo + web1)
				l.waitForOrder(undo+web1, journal.OrderFailed)
				if got := l.journal.State().Overridden[201]; got != before || before.Order == "" {
					t.Errorf("got override %+v after a failed %s, want %+v of the %s", got, undo, before, op)
				}
			})
		})
	}
}

// TestOrderedRestartThatStaysDown restarts a guest that does not come up again. The order has failed, and the agent does not start the guest: its manifest has
// no state.
func TestOrderedRestartThatStaysDown(t *testing.T) {
	runLabWithOrders(t, nil, true, func(t *testing.T, l *lab, p *probe) {
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/status/reboot$", Kind: pvesim.StaysDown}))
		l.order("reboot" + web1)
		if o := l.waitForOrder("reboot"+web1, journal.OrderFailed); !strings.Contains(o.Why, "does not run after its restart") || o.UPID == "" {
			t.Errorf("got %+v, want the reason and the task", o)
		}
		time.Sleep(time.Hour)
		if got := p.count(cluster.OpStart, 201) + p.count(cluster.OpReboot, 201); got != 1 || l.sim.Running(201) {
			t.Errorf("got %d calls, running %t, want the restart alone", got, l.sim.Running(201))
		}
	})
}
