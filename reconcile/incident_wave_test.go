package reconcile_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestDependencyThatCannotExistIsWaitedFor adds a guest that depends on a guest whose template does not exist.
func TestDependencyThatCannotExistIsWaitedFor(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["db.yaml"] = strings.Replace(vmYAML("db-1", 202, "state: running"), "tmpl-debian-12", "no-such-template", 1)
		l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "dependsOn: [VirtualMachine/db-1]")
		l.push("two guests", alice)
		defer l.start()()
		eventually(t, "the hold", func() bool {
			r := l.engine.Report()
			return len(r.Guests) == 2 && len(l.guest(r, 201).Held) > 0 && l.guest(r, 201).Held[0].Reason == reason.WaitsFor
		})
		time.Sleep(10 * time.Minute)
		if got := l.sim.Effects(201, pvesim.Cloned); got != 0 {
			t.Errorf("got web-1 made %d times before db-1, which cannot be made, want none", got)
		}
		if g := l.guest(l.engine.Report(), 201); !strings.Contains(g.Held[0].Message, "no-such-template") {
			t.Errorf("got %q, want it to contain the missing template", g.Held[0].Message)
		}
		l.files["db.yaml"] = vmYAML("db-1", 202, "state: running")
		l.push("the right template", alice)
		l.converge()
	})
}

// TestNewDependencyCountsFromTheStart adds a dependency and a run state to an existing guest in one revision. Planning is slow; the lanes must not
// start the guest meanwhile.
func TestNewDependencyCountsFromTheStart(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		var slow atomic.Bool
		l.opts.Hooks.OnPlan = func(report.PlanOutcome) {
			if slow.Load() {
				time.Sleep(3 * time.Second)
			}
		}
		l.files["db.yaml"] = vmYAML("db-1", 202, "suspend: {reason: later, author: alice}", "state: running")
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("two guests", alice)
		defer l.start()()
		eventually(t, "web-1", func() bool { return l.sim.Effects(201, pvesim.Cloned) == 1 })
		time.Sleep(time.Minute)
		slow.Store(true)
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 3Gi}", "state: running", "dependsOn: [VirtualMachine/db-1]")
		l.push("web-1 starts after db-1", alice)
		eventually(t, "the change that does not wait", func() bool { return l.sim.Value(201, "memory") == "3072" })
		time.Sleep(5 * time.Minute)
		if got := l.sim.Effects(201, pvesim.Started); got != 0 {
			t.Errorf("got web-1 started %d times before db-1, which does not exist, want none", got)
		}
	})
}

// TestSuspendedGuestDoesNotBlockAWave suspends a stopped guest of the first wave. The second wave does not wait for it.
func TestSuspendedGuestDoesNotBlockAWave(t *testing.T) {
	t.Parallel()
	for name, resting := range map[string]string{"suspended": "suspend: {reason: repair, author: alice}", "observed": "mode: observe"} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["db.yaml"] = vmYAML("db-1", 202, "state: running")
				l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "wave: 1")
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				l.files["db.yaml"] = vmYAML("db-1", 202, "state: running", resting)
				l.push("suspend db-1", alice)
				l.converge()
				l.ok(l.sim.SetRunning(202, false))
				l.ok(l.sim.SetRunning(201, false))
				eventually(t, "the start of web-1", func() bool { return l.sim.Running(201) })
				time.Sleep(5 * time.Minute)
				if l.sim.Running(202) {
					t.Error("got db-1 started, want it unchanged")
				}
			})
		})
	}
}

// TestSuspensionIsReportedWithoutDrift suspends a guest that is in sync. Its condition names the suspension, and lasts while a step is held and no longer is.
func TestSuspensionIsReportedWithoutDrift(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["db.yaml"] = vmYAML("db-1", 202)
		l.push("a guest", alice)
		defer l.start()()
		l.converge()
		l.files["db.yaml"] = vmYAML("db-1", 202, "suspend: {reason: repair, author: alice}")
		l.push("the guest is suspended", alice)
		l.converge()
		suspended := func() (c plan.Condition) {
			t.Helper()
			for _, c := range l.guest(l.engine.Report(), 202).Conditions {
				if c.Type == plan.Suspended {
					return c
				}
			}
			t.Error("got no condition of the suspended guest")
			return c
		}
		first := suspended()
		if first.Message != "suspended by alice: repair" || first.Since.IsZero() {
			t.Errorf("got %+v, want the reason and the beginning of the suspension", first)
		}
		l.ok(l.sim.Edit(202, "onboot", "1"))
		time.Sleep(5 * time.Minute)
		if again := suspended(); !again.Since.Equal(first.Since) {
			t.Errorf("got a suspension since %s, want since %s", again.Since, first.Since)
		}
	})
}

// TestIncidentFailingGuestKeepsLaterWavesDown adds a guest of the first wave that cannot be created. A user stops an existing guest of the second
// wave meanwhile.
func TestIncidentFailingGuestKeepsLaterWavesDown(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"full": "no space left", "refused": "storage 'ssd' does not exist"} {
		t.Run(name, func(t *testing.T) { runFailureBeforeAWave(t, text) })
	}
}

func runFailureBeforeAWave(t *testing.T, text string) {
	t.Helper()
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 202, "state: running", "wave: 1")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.TaskFails, Method: "POST", Path: "/clone$", Text: text, Times: -1}))
		l.files["db.yaml"] = vmYAML("db-1", 201, "state: running")
		l.files["app.yaml"] = vmYAML("app-1", 203, "state: running", "dependsOn: [VirtualMachine/db-1]")
		l.push("a first wave", alice)
		eventually(t, "the first attempt", func() bool {
			r := l.engine.Report()
			return len(r.Guests) == 3 && hasCondition(l.guest(r, 201), plan.Failed, "create")
		})
		l.ok(l.sim.SetRunning(202, false))
		held := func() bool {
			g := l.guest(l.engine.Report(), 202)
			return len(g.Held) > 0 && g.Held[0].Message == "wave 0 comes before wave 1"
		}
		eventually(t, "web-1 to wait for the first wave", held)
		eventually(t, "the start of web-1", func() bool { return l.sim.Running(202) })
		time.Sleep(time.Hour)
		if !hasCondition(l.guest(l.engine.Report(), 201), plan.Failed, "create") || l.sim.Effects(203, pvesim.Cloned) != 0 {
			t.Errorf("got %+v and app-1 made %d times, want db-1 failing, and app-1 waiting for it", l.guest(l.engine.Report(), 201), l.sim.Effects(203, pvesim.Cloned))
		}
		l.sim.ClearFaults()
		l.converge()
	})
}
