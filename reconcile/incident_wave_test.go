package reconcile_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
)

// TestDependencyThatCannotExistIsWaitedFor builds on a guest whose template is nowhere.
func TestDependencyThatCannotExistIsWaitedFor(t *testing.T) {
	bubble(t, nil, func(t *testing.T, l *lab) {
		l.files["db.yaml"] = strings.Replace(vmYAML("db-1", 202, "state: running"), "tmpl-debian-12", "no-such-template", 1)
		l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "dependsOn: [VirtualMachine/db-1]")
		l.push("two guests", alice)
		defer l.start()()
		eventually(t, "the hold", func() bool {
			r := l.engine.Report()
			return len(r.Guests) == 2 && len(l.guest(r, 201).Held) > 0 && l.guest(r, 201).Held[0].Reason == reconcile.HoldWaits
		})
		time.Sleep(10 * time.Minute)
		if got := l.sim.Effects(201, pvesim.Cloned); got != 0 {
			t.Errorf("got web-1 made %d times before db-1, which cannot be made, want none", got)
		}
		if g := l.guest(l.engine.Report(), 201); !strings.Contains(g.Held[0].Message, "no-such-template") {
			t.Errorf("got %q, want it to name what is missing", g.Held[0].Message)
		}
		l.files["db.yaml"] = vmYAML("db-1", 202, "state: running")
		l.push("the right template", alice)
		l.converge()
	})
}

// TestNewDependencyCountsFromTheStart gives a guest that exists a dependency and a run state in one revision. Planning takes long; the
// lanes must not start the guest in the meantime.
func TestNewDependencyCountsFromTheStart(t *testing.T) {
	bubble(t, nil, func(t *testing.T, l *lab) {
		var slow atomic.Bool
		l.opts.Hooks.OnPlan = func(reconcile.PlanOutcome) {
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
		eventually(t, "the part that needs no waiting", func() bool { return l.sim.Value(201, "memory") == "3072" })
		time.Sleep(5 * time.Minute)
		if got := l.sim.Effects(201, pvesim.Started); got != 0 {
			t.Errorf("got web-1 started %d times before db-1, which is not there, want none", got)
		}
	})
}

// TestSuspendedGuestHoldsUpNoWave leaves a guest of the first wave alone and down. The second wave does not wait for it.
func TestSuspendedGuestHoldsUpNoWave(t *testing.T) {
	for name, resting := range map[string]string{"suspended": "suspend: {reason: repair, author: alice}", "observed": "mode: observe"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(t *testing.T, l *lab) {
				l.files["db.yaml"] = vmYAML("db-1", 202, "state: running")
				l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "wave: 1")
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				l.files["db.yaml"] = vmYAML("db-1", 202, "state: running", resting)
				l.push("hands off db-1", alice)
				l.converge()
				l.ok(l.sim.SetRunning(202, false))
				l.ok(l.sim.SetRunning(201, false))
				eventually(t, "the start of web-1", func() bool { return l.sim.Running(201) })
				time.Sleep(5 * time.Minute)
				if l.sim.Running(202) {
					t.Error("got db-1 started, want hands off it")
				}
			})
		})
	}
}
