package reconcile_test

import (
	"slices"
	"strings"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
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

// A change of others stays drift if the agent ends between the intent to take it back and the outcome: the next process reports nothing else, and one repair.
func TestDriftStaysDriftOverACrash(t *testing.T) {
	t.Parallel()
	stopped := func(l *lab) {
		l.callAs("root@pam!full", "POST", "/nodes/pve1/qemu/201/status/stop", "")
		eventually(l, "the stop", func() bool { return !l.sim.Running(201) })
	}
	for name, test := range map[string]struct {
		op   cluster.Op
		edit func(l *lab)
		want string
	}{
		"configuration": {cluster.OpConfig, func(l *lab) { l.ok(l.sim.Edit(201, "description", "by hand")) }, "Drifted description"},
		"run_state":     {cluster.OpStart, stopped, "Drifted state"},
	} {
		for _, at := range []string{"before-call", "after-call"} {
			t.Run(name+"/"+at, func(t *testing.T) {
				runLab(t, nil, func(t *testing.T, l *lab) {
					l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "description: a web server")
					l.push("one guest", alice)
					if r := l.once(); !r.Converged {
						t.Fatalf("got %+v, want a first convergence", r)
					}
					d := &crashingCluster{Cluster: l.cluster, op: test.op, at: at}
					l.opts.Cluster = d
					seen := &said{vmid: 201}
					l.opts.Hooks.OnReport, l.opts.Hooks.OnEvent = seen.report, seen.event
					stop := l.start()
					test.edit(l)
					l.recoverFrom(&d.crashed, stop, 0)
					all := slices.DeleteFunc(seen.all, func(text string) bool { return strings.HasPrefix(text, "Failed") }) // by the crash
					if !slices.Equal(all, []string{test.want}) {
						t.Errorf("got %q in the reports, want %q alone", all, test.want)
					}
					if want := event.GuestRepaired; at == "before-call" && seen.events[len(seen.events)-1] != want {
						t.Errorf("got the events %v, want the repair as the last one", seen.events)
					}
				})
			})
		}
	}
}
