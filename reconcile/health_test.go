package reconcile_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// guestAgents answers for the guest agents of a lab.
type guestAgents struct {
	answer atomic.Bool
	asked  atomic.Int64
}

func (a *guestAgents) ping(context.Context, cluster.Row) error {
	a.asked.Add(1)
	if a.answer.Load() {
		return nil
	}
	return errors.New("QEMU guest agent is not running")
}

func withGuestAgents(a *guestAgents) []labOption {
	return []labOption{func(o *reconcile.Options) { o.Health.Ping = a.ping }}
}

// notReady returns the text of the step of web-1 that waits for another guest to be ready, "" if there is none.
func notReady(l *lab, op cluster.Op) string {
	for _, g := range l.engine.Report().Guests {
		for _, h := range g.Held {
			if g.VMID == 201 && h.Op == op && h.Reason == reason.WaitsFor {
				return h.Message
			}
		}
	}
	return ""
}

// checkOf is whether a guest has the condition that a check of it is not allowed.
func checkOf(l *lab, vmid int) (c plan.Condition, found bool) {
	for _, g := range l.engine.Report().Guests {
		for _, c := range g.Conditions {
			if g.VMID == vmid && c.Reason == reason.NotAllowed {
				return c, true
			}
		}
	}
	return c, false
}

// TestDependentWaitsUntilTheOtherGuestIsReady lets a guest depend on one whose guest agent does not answer yet. The dependent guest is not created before
// the agent answers, and a third guest of a higher wave does not wait. A converged cluster is not asked.
func TestDependentWaitsUntilTheOtherGuestIsReady(t *testing.T) {
	a := &guestAgents{}
	runLab(t, withGuestAgents(a), func(t *testing.T, l *lab) {
		l.files["db.yaml"] = vmYAML("db-1", 202, "state: running", "health: {agent: true}")
		l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "dependsOn: [VirtualMachine/db-1]")
		l.files["app.yaml"] = vmYAML("app-1", 203, "state: running", "wave: 1")
		l.push("three guests", alice)
		defer l.start()()
		eventually(l, "the other guests", func() bool { return l.sim.Running(202) && l.sim.Running(203) })
		const want = "it depends on VirtualMachine/db-1, which is not ready: guest agent: QEMU guest agent is not running"
		eventually(l, "the reason", func() bool { return notReady(l, cluster.OpCreate) == want })
		time.Sleep(5 * time.Minute)
		if l.sim.Config(201) != "" || notReady(l, cluster.OpCreate) != want {
			t.Errorf("the dependent guest was created before the other one was ready, or waits for %q", notReady(l, cluster.OpCreate))
		}
		if got := l.guest(l.engine.Report(), 202).Sync; got != report.Synced {
			t.Errorf("got the guest that is not ready %s, want it in sync", got)
		}
		l.cure(reason.LookAtChecks, l.saysOf("VirtualMachine/web-1"), func([]string) { a.answer.Store(true) })
		l.converge()
		before := a.asked.Load()
		time.Sleep(10 * time.Minute)
		if after := a.asked.Load(); after != before {
			t.Errorf("got %d checks of a converged cluster, want none", after-before)
		}
	})
}

// TestRestartWaitsUntilTheOtherGuestIsReady asks the guest agents of the simulator. A restart waits; a change that interrupts nothing
// does not.
func TestRestartWaitsUntilTheOtherGuestIsReady(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.opts.Health.Ping = l.cluster.PingAgent
		l.files["db.yaml"] = vmYAML("db-1", 202, "state: running", "agent: {enabled: true}", "health: {agent: true}")
		web := []string{"state: running", "dependsOn: [VirtualMachine/db-1]", "lifecycle: {rebootPolicy: auto}"}
		l.files["web.yaml"] = vmYAML("web-1", 201, web...)
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.IgnoreShutdown(202))
		time.Sleep(2 * time.Minute) // the last results expire
		l.files["web.yaml"] = vmYAML("web-1", 201, append(web, "memory: {size: 4Gi}", "description: new")...)
		l.push("more memory", alice)
		eventually(l, "the hold", func() bool {
			return strings.Contains(notReady(l, cluster.OpReboot), "QEMU guest agent is not running") && l.sim.Value(201, "description") == "new"
		})
		time.Sleep(2 * time.Minute)
		if got := l.sim.Effects(201, pvesim.Stopped); got != 0 {
			t.Errorf("got %d restarts while the other guest was not ready, want none", got)
		}
	})
}

// TestCheckThatHangsDelaysNothing lets the guest agent of one guest never answer. Another guest is created and repaired meanwhile, and the agent ends at
// once.
func TestCheckThatHangsDelaysNothing(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.opts.Health.Ping = func(ctx context.Context, _ cluster.Row) error {
			<-ctx.Done()
			return ctx.Err()
		}
		l.files["db.yaml"] = vmYAML("db-1", 202, "state: running", "health: {agent: true}")
		l.files["web.yaml"] = vmYAML("web-1", 201, "dependsOn: [VirtualMachine/db-1]")
		l.files["app.yaml"] = vmYAML("app-1", 203, "memory: {size: 2Gi}")
		l.push("three guests", alice)
		stop := l.start()
		eventually(l, "the hold", func() bool { return strings.Contains(notReady(l, cluster.OpCreate), "no answer") })
		l.ok(l.sim.Edit(203, "memory", "4096"))
		eventually(l, "the repair", func() bool { return l.sim.Value(203, "memory") == "2048" })
		began := time.Now()
		stop()
		if elapsed := time.Since(began); elapsed > time.Second {
			t.Errorf("got an end after %s, want none that waits for a check", elapsed)
		}
	})
}

// TestCheckThatTheHostDoesNotAllow is a condition of the guest with the remedy, also while nobody waits for the guest, and the dependent guest waits.
func TestCheckThatTheHostDoesNotAllow(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["db.yaml"] = vmYAML("db-1", 202, "state: running", "health: {tcp: '192.0.2.10:5432'}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		if c, _ := checkOf(l, 202); c.Type != plan.Warned || !strings.Contains(c.Message, "192.0.2.10:5432") || !strings.Contains(c.Hint, "checks.allow") {
			t.Errorf("got %+v, want a condition that names the address and the remedy", c)
		}
		l.files["web.yaml"] = vmYAML("web-1", 201, "dependsOn: [VirtualMachine/db-1]")
		l.push("two guests", alice)
		eventually(l, "the hold", func() bool { return strings.Contains(notReady(l, cluster.OpCreate), "checks.allow") })
	})
}

// TestObservedGuestIsChecked lets a guest depend on one that the agent may only observe, and that differs from its manifest.
func TestObservedGuestIsChecked(t *testing.T) {
	a := &guestAgents{}
	runLab(t, withGuestAgents(a), func(t *testing.T, l *lab) {
		l.files["db.yaml"] = vmYAML("db-1", 202, "state: running", "health: {agent: true}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["db.yaml"] = vmYAML("db-1", 202, "state: running", "health: {agent: true}", "mode: observe", "memory: {size: 4Gi}")
		l.files["web.yaml"] = vmYAML("web-1", 201, "dependsOn: [VirtualMachine/db-1]")
		l.push("observe it", alice)
		eventually(l, "the hold", func() bool { return strings.Contains(notReady(l, cluster.OpCreate), "is not running") })
		a.answer.Store(true)
		eventually(l, "the dependent guest", func() bool { return l.sim.Config(201) != "" })
	})
}

// TestOnceChecksOnce ends with the dependent guest created if the other one is ready, and otherwise says what it waits for.
func TestOnceChecksOnce(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]bool{"ready": true, "not_ready": false} {
		t.Run(name, func(t *testing.T) {
			a := &guestAgents{}
			a.answer.Store(answers)
			runLab(t, withGuestAgents(a), func(t *testing.T, l *lab) {
				l.files["db.yaml"] = vmYAML("db-1", 202, "state: running", "health: {agent: true}")
				l.files["web.yaml"] = vmYAML("web-1", 201, "dependsOn: [VirtualMachine/db-1]")
				l.push("two guests", alice)
				l.once()
				if made := l.sim.Config(201) != ""; made != answers || !l.sim.Running(202) {
					t.Errorf("got the dependent guest created %t, want %t", made, answers)
				}
				if why := notReady(l, cluster.OpCreate); strings.Contains(why, "guest agent: QEMU guest agent is not running") == answers {
					t.Errorf("got the reason %q", why)
				}
			})
		})
	}
}
