package reconcile_test

import (
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// A change of others stays drift, with the age that it has, while the agent fails to take it back, also after a restart of the agent.
func TestDriftStaysDriftWhileItsRepairFails(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		t.Run(map[bool]string{false: "one_process", true: "another_process"}[restarts], func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "state: stopped", "memory: {size: 512Mi}")
				l.push("one guest", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.ErrorText, Text: "storage 'local' is not online", Writes: true, VMID: 201, Path: "/config$", Times: -1}))
				l.ok(l.sim.Edit(201, "memory", "1024"))
				failed := func(r report.Report) bool { return len(r.Guests) == 1 && hasCondition(r.Guests[0], plan.Failed, "") }
				eventually(l, "the repair to fail", func() bool { return failed(l.engine.Report()) })
				if restarts {
					stop()
					stop = l.start()
					eventually(l, "the repair to fail again", func() bool { return failed(l.engine.Report()) })
				}
				g := l.guest(l.engine.Report(), 201)
				if !hasCondition(g, plan.Drifted, "") || hasCondition(g, plan.Pending, "") || g.DriftSince.IsZero() {
					t.Errorf("got %+v since %v, want drift with an age", g.Conditions, g.DriftSince)
				}
			})
		})
	}
}
