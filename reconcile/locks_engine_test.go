package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestLockThatNoTaskHolds leaves the lock of a migration behind in several ways: only if every node has answered, and none has a running task of the guest, the condition
// says how to unlock it.
func TestLockThatNoTaskHolds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		during func(l *lab) // while the migration is under way
		killed bool
		says   []string
		not    string
	}{
		"under_way":   {during: func(*lab) {}, says: []string{"wait for the task that holds the lock (qmigrate)"}, not: "unlock"},
		"killed":      {killed: true, during: func(*lab) {}, says: []string{"no task on any node holds it", "qm unlock 201"}, not: "frozen"},
		"node_silent": {killed: true, during: func(l *lab) { l.sim.StopNode("pve3") }, says: []string{"unknown whether a task holds it, since pve3 did not answer"}, not: "unlock"},
		"no_quorum": {
			during: func(l *lab) {
				l.sim.LoseQuorum()
				time.AfterFunc(20*time.Minute, l.sim.RegainQuorum)
			},
			says: []string{"no task on any node holds it", "frozen and no copy of it runs", "qm unlock 201", "second QEMU"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabOn(t, pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}, ResourcesPeriod: 10 * time.Second, TaskTimes: map[string]time.Duration{"qmigrate": 15 * time.Minute}}, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "state: running"), "pve1")
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				time.Sleep(time.Minute)
				if test.killed {
					l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/migrate$", Kind: pvesim.TaskKilled}))
				}
				l.callAs("root@pam!full", "POST", "/nodes/pve1/qemu/201/migrate", "target=pve2&online=1&with-local-disks=1")
				time.Sleep(9 * time.Minute) // it is killed in the middle
				test.during(l)
				if name != "under_way" {
					time.Sleep(25 * time.Minute)
				}
				g := l.guest(l.engine.Report(), 201)
				var locked plan.Condition
				for _, c := range g.Conditions {
					if c.Reason == reason.Locked {
						locked = c
					}
				}
				text := locked.Message + ": " + locked.Hint
				for _, want := range test.says {
					if !strings.Contains(text, want) {
						t.Errorf("got %q of %+v, want it to contain %q", text, g.Conditions, want)
					}
				}
				if test.not != "" && strings.Contains(text, test.not) {
					t.Errorf("got %q, want nothing of %q", text, test.not)
				}
				if g.Health != report.Degraded {
					t.Errorf("got %s, want Degraded", g.Health)
				}
				if name == "killed" {
					l.cure(reason.UnlockMoved, l.saysOf("VirtualMachine/web-1"), func([]string) { l.ok(l.sim.Edit(201, "lock", "")) })
					l.converge()
				}
			})
		})
	}
}

// TestFrozenMachineThatIsUnlocked loses the quorum in the middle of an online migration. The lock that it leaves is all that the list of guests shows: once it is gone, the machine
// is listed as running although no copy of it runs. It is degraded until it runs again.
func TestFrozenMachineThatIsUnlocked(t *testing.T) {
	runLabOn(t, pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}, ResourcesPeriod: 10 * time.Second, TaskTimes: map[string]time.Duration{"qmigrate": 15 * time.Minute}}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "state: running"), "pve1")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		time.Sleep(time.Minute)
		move := func() {
			l.callAs("root@pam!full", "POST", "/nodes/pve1/qemu/201/migrate", "target=pve2&online=1&with-local-disks=1")
		}
		move()
		time.Sleep(9 * time.Minute)
		l.sim.LoseQuorum()
		time.Sleep(20 * time.Minute)
		l.sim.RegainQuorum()
		time.Sleep(5 * time.Minute)
		l.ok(l.sim.Edit(201, "lock", ""))
		for range 10 {
			time.Sleep(time.Minute)
			if g := l.guest(l.engine.Report(), 201); g.Health != report.Degraded || g.Status != guest.StatusPaused {
				t.Fatalf("got %s and %s of a machine that is frozen, want Degraded and paused", g.Health, g.Status)
			}
		}
		move() // the next migration finds the second copy, ends it, and lets the machine run
		eventually(t, "a machine that runs", func() bool {
			g := l.guest(l.engine.Report(), 201)
			return g.Health == report.Healthy && g.Status == guest.StatusRunning
		})
		l.converge()
	})
}
