package reconcile_test

import (
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
)

// TestRestartWithoutAReplyIsFinished loses the reply to an approved restart that leaves the guest stopped. The agent stopped the guest, so the
// agent starts it, and the approval is spent.
func TestRestartWithoutAReplyIsFinished(t *testing.T) {
	runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
		approved := func(cores string) string {
			return vmYAML("web-1", 201, "cpu: {cores: "+cores+"}", "lifecycle: {rebootPolicy: approve}")
		}
		l.files["web.yaml"] = approved("1")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.SetRunning(201, true))
		l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.StaysDown, Path: "/status/reboot$"}))
		p.setHooks(hooks{reply: func(call cluster.Call) error {
			if call.Op == cluster.OpReboot {
				return cluster.ErrOutcomeUnknown
			}
			return nil
		}})
		l.files["web.yaml"] = approved("2")
		l.waitForAcceptance(l.push("two cores", alice))
		l.approve(l.digestOfHold(201))
		l.converge()
		if got := l.sim.Effects(201, pvesim.Stopped); got != 1 || !l.sim.Running(201) {
			t.Errorf("got running %t after %d restarts, want it running after one", l.sim.Running(201), got)
		}
		for _, o := range l.journal.State().Orders {
			if o.State != journal.OrderRun {
				t.Errorf("got order %s, want it run", o.State)
			}
		}
	})
}
