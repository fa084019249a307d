package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestEntryThatCannotBeReadIsUnknown keeps the entries of the HA manager from being read, of guests whose manifests want one, want none, and leave HA alone. Of the first
// two nothing is known: they count neither as in sync nor as drifted, failed or missing, nothing is planned or sent for them, and the revision has not converged.
func TestEntryThatCannotBeReadIsUnknown(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"running agent": false, "agent that starts": true} {
		t.Run(name, func(t *testing.T) {
			runLabOfHA(t, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = vmYAML("web-1", 201, "ha: {state: started}", "state: running")
				l.files["db.yaml"] = vmYAML("db-1", 202, "ha: {absent: true}")
				l.files["plain.yaml"] = vmYAML("plain-1", 203)
				l.push("three guests", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				time.Sleep(2 * time.Minute)
				if restart {
					stop()
				}
				l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "^/cluster/ha/", Kind: pvesim.ErrorText, Text: "got timeout", Times: -1}))
				if restart {
					stop = l.start()
				}
				eventually(t, "the guests to be unknown", func() bool { return l.says(reason.NotObserved, "was not read") })
				l.sim.ResetCounters()
				l.remains(201, "unknown", func(g report.Guest) bool {
					r := l.engine.Report()
					other := l.guest(r, 202)
					return unknownUnderHA(g) && unknownUnderHA(other) && l.guest(r, 203).Sync == report.Synced && !r.Converged
				})
				if n := l.sim.Writes(); n != 0 {
					t.Errorf("got %d writes, want none", n)
				}
				l.sim.ClearFaults()
				l.converge()
			})
		})
	}
}

// unknownUnderHA reports whether nothing is said of a guest but that its entry with the HA manager was not read.
func unknownUnderHA(g report.Guest) bool {
	return g.Sync == report.SyncUnknown && g.Health == report.HealthUnknown && g.Managed && len(g.Changes) == 0 && len(g.Conditions) == 1 &&
		hasCondition(g, plan.NotObserved, reason.NotObserved) && strings.Contains(g.Conditions[0].Message, "its entry with the HA manager was not read")
}
