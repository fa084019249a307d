package reconcile_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestIncidentPendingChangeReportedAsApplied writes a value that a running guest uses after its next start. The plain configuration in Proxmox
// shows it as if it were in effect; the report shows it as pending until the guest was stopped and started.
func TestIncidentPendingChangeReportedAsApplied(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		vmid          int
		before, after string
		key, want     string
	}{
		"machine": {
			201, vmYAML("web-1", 201, "cpu: {cores: 1}", "state: running"), vmYAML("web-1", 201, "cpu: {cores: 2}", "state: running"), "cores", "2",
		},
		"taken_out": {
			201, vmYAML("web-1", 201, "raw: {localtime: 1}", "state: running"), vmYAML("web-1", 201, "unset: [localtime]", "state: running"), "localtime", "",
		},
		"container": {
			210, dnsYAML("dns: {servers: [1.1.1.1]}", "state: running"), dnsYAML("dns: {servers: [9.9.9.9]}", "state: running"), "nameserver", "9.9.9.9",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.files["guest.yaml"] = test.before
				l.push("a guest that runs", alice)
				stop := sync.OnceFunc(l.start())
				defer stop()
				l.converge()
				old := l.sim.Value(test.vmid, test.key)
				l.files["guest.yaml"] = test.after
				l.push("a pending change", alice)
				l.waitForCondition(test.vmid, string(plan.PendingRestart), test.key)
				waits := func(when string) {
					t.Helper()
					r := l.engine.Report()
					if g := l.guest(r, test.vmid); r.Converged || g.Sync != report.OutOfSync || !hasCondition(g, plan.PendingRestart, reason.PendingRestart) {
						t.Errorf("%s: got converged %t and %s with %+v, want a pending change", when, r.Converged, g.Sync, g.Conditions)
					}
					if got := l.sim.Value(test.vmid, test.key); got != old || !strings.Contains(strings.ToLower(l.sim.Config(test.vmid)), "pending]") {
						t.Errorf("%s: got %s %q, want %q until the restart", when, test.key, got, old)
					}
				}
				waits("written")
				w.wantNoWrites(t)
				waits("an hour later")
				stop()
				if r := l.once(); r.Converged {
					t.Error("got a converged single run, want the restart reported")
				}
				defer l.start()()
				eventually(l, "the first report", func() bool { return len(l.engine.Report().Guests) == 1 })
				if test.vmid == 201 {
					l.ok(l.sim.RestartInside(test.vmid)) // this applies nothing
					time.Sleep(5 * time.Minute)
					waits("restarted from inside")
				}
				l.ok(l.sim.SetRunning(test.vmid, false))
				l.converge()
				if got := l.sim.Value(test.vmid, test.key); got != test.want || !l.sim.Running(test.vmid) {
					t.Errorf("got %s %q, running %t, want %q in a running guest", test.key, got, l.sim.Running(test.vmid), test.want)
				}
			})
		})
	}
}
