package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
)

// TestIneffectiveRestartIsNotRepeated keeps a change pending in Proxmox after every restart of the guest. The agent does not repeat the restart,
// also after a restart of the agent, until the revision or the pending change is different.
func TestIneffectiveRestartIsNotRepeated(t *testing.T) {
	runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
		l.rareTicks()
		l.files["web.yaml"] = runningWeb(1)
		l.push("one guest", alice)
		stop := l.start()
		l.converge()
		p.setHooks(hooks{read: waitsFor("cores", "1", "2")})
		l.files["web.yaml"] = runningWeb(2)
		l.waitForAcceptance(l.push("two cores", alice))
		restarts := func(want int, when string) {
			t.Helper()
			time.Sleep(time.Hour)
			if got := l.sim.Effects(201, pvesim.Stopped); got != want {
				t.Errorf("got %d restarts an hour after %s, want %d", got, when, want)
			}
			if g := l.guest(l.engine.Report(), 201); !hasCondition(g, plan.Failed, "reboot") || !hasCondition(g, plan.PendingRestart, "") {
				t.Errorf("got %+v after %s, want the restart reported as failed", g.Conditions, when)
			}
		}
		restarts(1, "the change")
		for range 2 {
			stop()
			stop = l.start()
			restarts(1, "another start of the agent")
		}
		l.files["README.md"] = "Another revision.\n"
		l.waitForAcceptance(l.push("another revision", alice))
		restarts(2, "another revision")
		cores, sockets := waitsFor("cores", "1", "2"), waitsFor("sockets", "2", "1")
		p.setHooks(hooks{read: func(o *guest.Observed) { cores(o); sockets(o) }})
		restarts(3, "another change that waits")
		stop()
		defer l.start()()
		restarts(3, "a last start of the agent")
	})
}

// waitsFor makes a key of web-1 look as if its change were always pending.
func waitsFor(key, now, next string) func(o *guest.Observed) {
	return func(o *guest.Observed) {
		if o.VMID == 201 && o.Keys["cores"].Set {
			o.Keys[key] = guest.Value{Text: now, Set: true, Pending: &next}
		}
	}
}

// TestAgentDoesNotStartAGuestThatAUserShutDown stops the agent while it cannot read the result of a restart. The guest starts by itself, and a user
// shuts it down before the agent starts again.
func TestAgentDoesNotStartAGuestThatAUserShutDown(t *testing.T) {
	runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
		stop := l.startWithRunningWeb()
		p.setHooks(hooks{wait: func(upid string) error {
			if strings.Contains(upid, ":qmreboot:") {
				return cluster.ErrNotReady
			}
			return nil
		}})
		l.files["web.yaml"] = restartableWeb(2)
		l.waitForAcceptance(l.push("two cores", alice))
		eventually(t, "the guest back", func() bool { return l.sim.Effects(201, pvesim.Stopped) == 1 && l.sim.Running(201) })
		stop()
		p.setHooks(hooks{})
		time.Sleep(10 * time.Minute)
		l.ok(l.sim.SetRunning(201, false))
		defer l.start()()
		time.Sleep(10 * time.Minute)
		if l.sim.Running(201) {
			t.Error("got the guest started, want it stopped, as the user left it")
		}
	})
}

// TestStartAfterARestartFollowsTheManifest makes a restart leave the guest stopped. By then the manifest wants the guest stopped, or suspends it.
func TestStartAfterARestartFollowsTheManifest(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{"stopped": "state: stopped", "suspended": "suspend: {reason: maintenance}", "observed": "mode: observe"} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				defer l.startWithRunningWeb()()
				l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.StaysDown, Path: "/status/reboot$"}))
				l.files["web.yaml"] = restartableWeb(2)
				l.push("two cores", alice)
				eventually(t, "the guest down", func() bool { return l.sim.Effects(201, pvesim.Stopped) == 1 })
				starts := l.sim.Effects(201, pvesim.Started)
				l.files["web.yaml"] = restartableWeb(2, line)
				l.waitForAcceptance(l.push(line, alice))
				time.Sleep(5 * time.Minute)
				if got := l.sim.Effects(201, pvesim.Started) - starts; got != 0 {
					t.Errorf("got %d starts, want none", got)
				}
			})
		})
	}
}

// startWithRunningWeb starts an agent that manages web-1, which runs and may be restarted.
func (l *lab) startWithRunningWeb() (stop func()) {
	l.Helper()
	l.files["web.yaml"] = restartableWeb(1)
	l.push("one guest", alice)
	stop = l.start()
	l.converge()
	l.ok(l.sim.SetRunning(201, true))
	return stop
}

// restartableWeb returns web-1, whose manifest has no run state and allows restarts.
func restartableWeb(cores int, lines ...string) string {
	return vmYAML("web-1", 201, append(lines, fmt.Sprintf("cpu: {cores: %d}", cores), "lifecycle: {rebootPolicy: auto}")...)
}

// TestPoolChangeIsNotAFailure changes the pool, which only the inventory shows, and checks every report on the way.
func TestPoolChangeIsNotAFailure(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.ok(l.cluster.SetPoolComment(t.Context(), "prod", "for the test"))
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = vmYAML("web-1", 201, "pool: prod")
		l.waitForAcceptance(l.push("its pool", alice))
		eventually(t, "convergence without a failure", func() bool {
			r := l.engine.Report()
			if g := l.guest(r, 201); hasCondition(g, plan.Failed, "") {
				t.Fatalf("got %+v after a change that worked", g.Conditions)
			}
			return r.Converged
		})
	})
}
