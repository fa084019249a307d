package reconcile_test

import (
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
)

// TestScopeIsCheckedBeforeTheCall turns the template into an ordinary guest while the clone waits for its turn. Wanda may clone templates only.
func TestScopeIsCheckedBeforeTheCall(t *testing.T) {
	runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
		l.trustWanda(nil, nil)
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		p.setHooks(hooks{write: func(call cluster.Call) {
			if call.CloneOf == 9000 {
				l.ok(l.sim.Edit(9000, "template", ""))
			}
		}})
		l.files["web-9.yaml"] = withoutVMID(vmYAML("web-9", 209))
		l.push("a clone", wanda)
		eventually(l, "the hold", func() bool { _, held := l.heldFor("VirtualMachine/web-9", gate.HoldScope); return held })
		if got := p.count(cluster.OpCreate, 200); got != 0 {
			t.Errorf("got %d clones of a guest that is no template, want none", got)
		}
	})
}
