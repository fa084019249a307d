package reconcile_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// ineffectiveWrites makes web-1's memory look as if no write had changed it.
var ineffectiveWrites = hooks{read: func(o *guest.Observed) {
	if o.VMID == 201 && o.Keys["memory"].Set {
		o.Keys["memory"] = guest.Value{Text: "4096", Set: true}
	}
}}

// TestIneffectiveChangeIsNotRepeated makes Proxmox accept a change repeatedly without an effect.
func TestIneffectiveChangeIsNotRepeated(t *testing.T) {
	runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		p.setHooks(ineffectiveWrites)
		eventually(t, "the failure", func() bool { return hasCondition(l.guest(l.engine.Report(), 201), plan.Failed, "config") })
		before := p.count(cluster.OpConfig, 201)
		time.Sleep(time.Hour)
		if got := p.count(cluster.OpConfig, 201) - before; got > 60/5+6 {
			t.Errorf("got %d writes in an hour, want the few attempts that the backoff allows", got)
		}
		if g := l.guest(l.engine.Report(), 201); g.Health != report.Degraded || g.Sync != report.OutOfSync {
			t.Errorf("got %s and %s, want Degraded and OutOfSync", g.Health, g.Sync)
		}
	})
}

// TestIneffectiveChangeEndsASingleRun does the same to an agent that runs once, which must end.
func TestIneffectiveChangeEndsASingleRun(t *testing.T) {
	runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
		p.setHooks(ineffectiveWrites)
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		l.open()
		defer l.close()
		ctx, cancel := context.WithTimeout(l.Context(), 10*time.Minute)
		defer cancel()
		r, err := l.engine.Once(ctx)
		if err != nil || r.Converged {
			t.Errorf("got converged %t and %v after %d writes, want a run that ends without convergence", r.Converged, err, p.count(cluster.OpConfig, 201))
		}
	})
}

// TestFlappingRepairsSlowDown undoes every repair at once, also while other guests are changed by pushes. A change of the guest itself is applied at
// once.
func TestFlappingRepairsSlowDown(t *testing.T) {
	t.Parallel()
	for name, pushes := range map[string]bool{"alone": false, "with_pushes": true} {
		t.Run(name, func(t *testing.T) { checkFlapping(t, pushes) })
	}
}

func checkFlapping(t *testing.T, pushes bool) {
	t.Helper()
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		repairs, spaced := 0, false
		for second := range 3600 {
			time.Sleep(time.Second)
			if pushes && second%60 == 0 {
				l.files["other.yaml"] = vmYAML("other-1", 202, fmt.Sprintf("description: version %d", second))
				l.push("another guest", alice)
			}
			if l.sim.Value(201, "memory") == "2048" {
				l.ok(l.sim.Edit(201, "memory", "4096"))
				repairs++
			}
			spaced = spaced || hasCondition(l.guest(l.engine.Report(), 201), plan.Blocked, reason.Flapping)
		}
		if !spaced {
			t.Error("got no word of a fight, want the condition")
		}
		if repairs < 15 || repairs > 60 {
			t.Errorf("got %d repairs in an hour, want about one in two minutes after the first few", repairs)
		}
		if pushes {
			l.cure(reason.FindGuestEditor, l.saysOf("VirtualMachine/web-1"), func([]string) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}", "ignoreFields: [memory]")
				l.push("somebody else decides", alice)
			})
			l.converge() // a repair that had begun before the push has ended
			l.ok(l.sim.Edit(201, "memory", "4096"))
			time.Sleep(time.Hour)
			if got := l.sim.Value(201, "memory"); got != "4096" {
				t.Errorf("got memory %s an hour after the other program set it, want its value left alone", got)
			}
			return
		}
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 3Gi}")
		l.waitForAcceptance(l.push("its own change", alice))
		time.Sleep(time.Minute)
		if got := l.sim.Value(201, "memory"); got != "3072" {
			t.Errorf("got memory %s a minute after the guest's own change, want it applied", got)
		}
		l.converge()
	})
}

// TestFailureEndsAfterAManualRepair makes every repair fail until a user removes the drift.
func TestFailureEndsAfterAManualRepair(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/qemu/201/config$", Kind: pvesim.ErrorText, Text: "storage is full", Times: -1}))
		l.ok(l.sim.Edit(201, "memory", "4096"))
		eventually(t, "the failure", func() bool { return hasCondition(l.guest(l.engine.Report(), 201), plan.Failed, "config") })
		l.ok(l.sim.Edit(201, "memory", "2048"))
		eventually(t, "the end of the failure", func() bool {
			g := l.guest(l.engine.Report(), 201)
			return g.Health == report.Healthy && !hasCondition(g, plan.Failed, "")
		})
		if r := l.engine.Report(); !r.Converged {
			t.Errorf("got %+v, want it converged without a write", r.Guests)
		}
	})
}
