package reconcile_test

import (
	"slices"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/report"
)

// TestIncidentDependentIsInterruptedTooEarly changes a guest and the guest that depends on it. The first change waits for an approval, so the second guest
// is not restarted before. What does not interrupt it is written.
func TestIncidentDependentIsInterruptedTooEarly(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		db := func(bridge string) string {
			return vmYAML("db-1", 202, "state: running", "networks: {net0: {bridge: "+bridge+"}}")
		}
		web := func(size string) string {
			return vmYAML("web-1", 201, "state: running", "memory: {size: "+size+"}", "lifecycle: {rebootPolicy: auto}", "dependsOn: [VirtualMachine/db-1]")
		}
		l.files["db.yaml"], l.files["web.yaml"] = db("vmbr0"), web("1Gi")
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		restarts := l.sim.Effects(201, pvesim.Started)
		l.files["db.yaml"], l.files["web.yaml"] = db("vmbr1"), web("2Gi")
		l.push("both change", alice)
		eventually(l, "the restart that waits", func() bool { return hasHeld(l.guest(l.engine.Report(), 201), cluster.OpReboot, gate.HoldWaits) })
		time.Sleep(5 * time.Minute)
		if got := l.sim.Effects(201, pvesim.Started); got != restarts || !hasHeld(l.guest(l.engine.Report(), 202), cluster.OpConfig, gate.HoldApproval) {
			t.Errorf("got %d starts, want %d while the other guest has a step left", got, restarts)
		}
		l.files["db.yaml"] = db("vmbr0")
		l.push("the first change is taken back", alice)
		l.converge()
		if got := l.sim.Effects(201, pvesim.Started); got != restarts+1 {
			t.Errorf("got %d starts, want %d after the other guest has converged", got, restarts+1)
		}
	})
}

// hasHeld reports whether a step of a guest is held for a reason.
func hasHeld(g report.Guest, op cluster.Op, reason gate.HoldReason) bool {
	return slices.ContainsFunc(g.Held, func(h report.HeldStep) bool { return h.Op == op && h.Reason == reason })
}
