package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestIncidentFreedVMIDIsAssignedAtOnce destroys a guest and adds others. The vmid is reserved for a day, because calls, backups and firewall rules
// of the old guest may still use it; then it is free.
func TestIncidentFreedVMIDIsAssignedAtOnce(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.rareTicks()
		l.files["cluster.yaml"] = strings.Replace(clusterYAML, "to: 299", "to: 202", 1)
		l.files["old.yaml"] = withoutVMID(vmYAML("old-1", 299, "lifecycle: {destroy: allow}"))
		l.files["keep.yaml"] = vmYAML("keep-1", 202)
		l.push("an old guest", alice)
		stop := l.start()
		l.converge()
		delete(l.files, "old.yaml")
		l.push("it goes", alice)
		l.converge()
		l.files["new.yaml"] = withoutVMID(vmYAML("new-1", 299))
		l.push("one more", alice)
		l.converge()
		stop()
		defer l.start()() // the journal contains the time
		l.files["newer.yaml"] = withoutVMID(vmYAML("newer-1", 299))
		l.waitForAcceptance(l.push("and one more", alice))
		time.Sleep(time.Hour)
		if l.sim.Config(200) != "" || l.sim.Value(201, "name") != "new-1" {
			t.Errorf("got %q under 200 and %q under 201, want none and new-1", l.sim.Config(200), l.sim.Value(201, "name"))
		}
		guests := l.engine.Report().Guests
		if !slices.ContainsFunc(guests, func(g report.Guest) bool { return g.Name == "newer-1" && reportsReservedVMID(g) }) {
			t.Errorf("got %+v, want newer-1 without a vmid, and the reserved vmid reported", guests)
		}
		time.Sleep(24 * time.Hour)
		l.converge()
		if got := l.sim.Value(200, "name"); got != "newer-1" {
			t.Errorf("got %q under 200 a day later, want newer-1", got)
		}
	})
}

func reportsReservedVMID(g report.Guest) bool {
	return slices.ContainsFunc(g.Conditions, func(c plan.Condition) bool {
		return c.Reason == reason.Impossible && strings.Contains(c.Message, "free for less than a day, so not assigned yet: 200")
	})
}
