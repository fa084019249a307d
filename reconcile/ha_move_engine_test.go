package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

const moveWeb1 = "migrate" + web1 + " target=pve2"

// runLabUnderHA runs a test in virtual time with web-1, which the HA manager runs on pve1 of three nodes.
func runLabUnderHA(t *testing.T, options pvesim.Options, test func(t *testing.T, l *lab)) {
	t.Helper()
	runLabUnderHAWithRestart(t, options, func(t *testing.T, l *lab, _ func()) { test(t, l) })
}

// runLabUnderHAWithRestart is runLabUnderHA for a test that starts the agent again.
func runLabUnderHAWithRestart(t *testing.T, options pvesim.Options, test func(t *testing.T, l *lab, restart func())) {
	t.Helper()
	options.Nodes = []string{"pve1", "pve2", "pve3"}
	runLabOn(t, options, func(t *testing.T, l *lab) {
		l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Role: "Administrator"}}) // requests to the HA manager need Sys.Console
		l.trustOtto()
		l.files["web.yaml"] = vmYAML("web-1", 201, "ha: {state: started}", "state: running")
		l.push("one guest", alice)
		stop := l.start()
		defer func() { stop() }()
		l.converge()
		eventually(t, "it runs", func() bool { return l.sim.Running(201) })
		time.Sleep(2 * time.Minute)
		test(t, l, func() {
			stop()
			stop = l.start()
		})
	})
}

// requests returns how often the HA manager was asked to move a guest.
func (l *lab) requests() int {
	asked := 0
	for _, task := range l.sim.Tasks() {
		if task.Type == "hamigrate" {
			asked++
		}
	}
	return asked
}

// says reports whether a guest has a condition with a reason and a message that contains a text.
func (l *lab) says(why reason.Name, text string) bool {
	for _, g := range l.engine.Report().Guests {
		for _, c := range g.Conditions {
			if g.VMID == 201 && c.Reason == why && strings.Contains(c.Message, text) {
				return true
			}
		}
	}
	return false
}

// TestLongHAMoveIsNotFailed moves a guest of the HA manager for 15 minutes, by order and by manifest. It is under way until it arrives.
func TestLongHAMoveIsNotFailed(t *testing.T) {
	t.Parallel()
	long := pvesim.Options{TaskTimes: map[string]time.Duration{"qmigrate": 15 * time.Minute}}
	t.Run("order", func(t *testing.T) {
		runLabUnderHA(t, long, func(t *testing.T, l *lab) {
			l.order(moveWeb1)
			time.Sleep(10 * time.Minute)
			if o := l.orderOf(moveWeb1); o.State != journal.OrderReleased {
				t.Errorf("got the order %s (%s) while the guest is on its way, want it released", o.State, o.Why)
			}
			if !l.says(reason.WaitsFor, "the HA manager moves the guest") {
				t.Errorf("got %v, want the move", l.guest(l.engine.Report(), 201).Conditions)
			}
			l.waitForOrder(moveWeb1, journal.OrderRun)
			if got := l.nodeOf(201); got != "pve2" || l.requests() != 1 {
				t.Errorf("got it on %s after %d requests, want pve2 after one", got, l.requests())
			}
		})
	})
	t.Run("manifest", func(t *testing.T) {
		runLabUnderHA(t, long, func(t *testing.T, l *lab) {
			l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "ha: {state: started}", "state: running"), "pve2")
			l.push("to the other node", alice)
			time.Sleep(10 * time.Minute)
			if g := l.guest(l.engine.Report(), 201); g.Health != report.Progressing {
				t.Errorf("got %s with %v, want it under way", g.Health, g.Conditions)
			}
			l.converge()
			if got := l.nodeOf(201); got != "pve2" || l.requests() != 1 {
				t.Errorf("got it on %s after %d requests, want pve2 after one", got, l.requests())
			}
		})
	})
	t.Run("restart", func(t *testing.T) { // of the agent, while the guest is on its way
		runLabUnderHAWithRestart(t, long, func(t *testing.T, l *lab, restart func()) {
			l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "ha: {state: started}", "state: running"), "pve2")
			l.push("to the other node", alice)
			eventually(t, "the request", func() bool { return l.requests() == 1 })
			time.Sleep(2 * time.Second)
			restart()
			l.converge()
			if got := l.nodeOf(201); got != "pve2" || l.requests() != 1 {
				t.Errorf("got it on %s after %d requests, want pve2 after one", got, l.requests())
			}
		})
	})
}

// TestDroppedHARequestEndsTheWait orders a move that the HA manager drops, since the target went into maintenance after the request.
func TestDroppedHARequestEndsTheWait(t *testing.T) {
	runLabUnderHA(t, pvesim.Options{}, func(t *testing.T, l *lab) {
		l.order(moveWeb1)
		eventually(t, "the request", func() bool { return l.requests() == 1 })
		asked := time.Now()
		l.sim.SetMaintenance("pve2", true)
		o := l.waitForOrder(moveWeb1, journal.OrderFailed)
		if took := time.Since(asked); took > time.Minute {
			t.Errorf("got the end of the wait after %s, want two rounds of the manager", took)
		}
		for _, text := range []string{"dropped the request", "pve-ha-crm on pve1"} {
			if !strings.Contains(o.Why, text) {
				t.Errorf("got %q, want it to contain %q", o.Why, text)
			}
		}
		if got := l.nodeOf(201); got != "pve1" || l.requests() != 1 {
			t.Errorf("got it on %s after %d requests, want pve1 after one", got, l.requests())
		}
	})
}

// abortMove aborts the task that moves web-1 from pve1, as a person does, as soon as the task has locked it: before, it ends with another error.
func (l *lab) abortMove() {
	l.Helper()
	eventually(l, "the move", func() bool {
		for _, task := range l.sim.Tasks() {
			if task.Type == "qmigrate" && task.Active && l.sim.Value(201, "lock") != "" {
				l.callAs("root@pam!full", "DELETE", "/nodes/pve1/tasks/"+task.UPID, "")
				return true
			}
		}
		return false
	})
}

// TestHAMoveThatFailsNamesItsTask orders a move whose task, of root@pam, fails.
func TestHAMoveThatFailsNamesItsTask(t *testing.T) {
	runLabUnderHA(t, pvesim.Options{TaskTimes: map[string]time.Duration{"qmigrate": 10 * time.Minute}}, func(t *testing.T, l *lab) {
		l.order(moveWeb1)
		l.abortMove()
		if o := l.waitForOrder(moveWeb1, journal.OrderFailed); !strings.Contains(o.Why, "qmigrate") || !strings.Contains(o.Why, "migration problems") {
			t.Errorf("got %q, want the error of the task that moved it", o.Why)
		}
	})
}

// TestHAMoveWithoutMaster orders a move while no master of the HA manager works: the wait says so, and ends as unknown, since the request stays in the queue. If a
// new master comes before, the guest moves.
func TestHAMoveWithoutMaster(t *testing.T) {
	t.Parallel()
	for name, comes := range map[string]bool{"comes_back": true, "stays_away": false} {
		t.Run(name, func(t *testing.T) {
			runLabUnderHA(t, pvesim.Options{}, func(t *testing.T, l *lab) {
				l.sim.StopHAMaster()
				l.order(moveWeb1)
				eventually(t, "the condition", func() bool { return l.says(reason.WaitsFor, "the HA manager has no active master") })
				want, on := journal.OrderUnknown, "pve1"
				if comes {
					time.Sleep(2 * time.Minute)
					l.sim.StartHAMaster()
					want, on = journal.OrderRun, "pve2"
				}
				o := l.waitForOrder(moveWeb1, want)
				if !comes && !strings.Contains(o.Why, "may still be in the queue") {
					t.Errorf("got %q, want that the request may still be in the queue", o.Why)
				}
				if got := l.nodeOf(201); got != on || l.requests() != 1 {
					t.Errorf("got it on %s after %d requests, want %s after one", got, l.requests(), on)
				}
			})
		})
	}
}

// TestHAMoveWhoseManagerCannotBeRead orders a move while the state of the HA manager cannot be read: the wait says so, and does not take the request for dropped. If the request lies in the
// queue, the outcome is unknown in the end.
func TestHAMoveWhoseManagerCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, acts := range map[string]bool{"acts": true, "stands": false} {
		t.Run(name, func(t *testing.T) {
			runLabUnderHA(t, pvesim.Options{}, func(t *testing.T, l *lab) {
				l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "/manager_status$", Kind: pvesim.ErrorText, Text: "got timeout", Times: -1}))
				if !acts {
					l.sim.StopHAMaster()
				}
				l.order(moveWeb1)
				eventually(t, "the condition", func() bool {
					return l.says(reason.WaitsFor, "it is unknown whether the HA manager works on the request: its state")
				})
				want, on := journal.OrderRun, "pve2"
				if !acts {
					want, on = journal.OrderUnknown, "pve1"
				}
				began := time.Now()
				o := l.waitForOrder(moveWeb1, want)
				if !acts && (time.Since(began) < 4*time.Minute || !strings.Contains(o.Why, "may still be in the queue")) {
					t.Errorf("got %q after %s, want that the request may still be in the queue, after five minutes", o.Why, time.Since(began))
				}
				if got := l.nodeOf(201); got != on || l.requests() != 1 {
					t.Errorf("got it on %s after %d requests, want %s after one", got, l.requests(), on)
				}
			})
		})
	}
}
