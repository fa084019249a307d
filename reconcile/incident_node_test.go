package reconcile_test

import (
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestIncidentNodeInMaintenanceGetsWork puts a node into maintenance, and a manifest asks for a new guest there. Nothing is created until the maintenance
// ends, and neither another guest nor a higher wave waits.
func TestIncidentNodeInMaintenanceGetsWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}}))
		l.files["cluster.yaml"] = clusterYAML
		l.push("no guest", alice)
		l.sim.SetMaintenance("pve2", true)
		defer l.start()()
		l.converge()
		l.files["dns.yaml"] = onNode(dnsYAML("state: running"), "pve2")
		l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "wave: 1")
		l.push("a guest on each node", alice)
		eventually(l, "the guest on the other node", func() bool { return l.sim.Running(201) })
		time.Sleep(time.Minute)
		if g := l.guest(l.engine.Report(), 210); l.sim.Config(210) != "" || !hasHeld(g, cluster.OpCreate, reason.Window) {
			t.Errorf("got %+v, want the create held", g)
		}
		l.sim.SetMaintenance("pve2", false)
		l.converge()
		if !l.sim.Running(210) {
			t.Error("the guest was not created after the maintenance")
		}
	})
}

// TestIncidentGuestOfAnOfflineNodeIsUnknown stops a node. Its guest is Unknown for this reason, and nothing is created on another node.
func TestIncidentGuestOfAnOfflineNodeIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}}))
		l.files["cluster.yaml"] = clusterYAML
		l.files["dns.yaml"] = onNode(dnsYAML("state: running", "lifecycle: {recreate: allow}"), "pve2")
		l.push("a guest", alice)
		defer l.start()()
		l.converge()
		l.sim.StopNode("pve2")
		eventually(l, "the reason", func() bool {
			g := l.guest(l.engine.Report(), 210)
			return g.Sync == report.SyncUnknown && hasCondition(g, plan.NotObserved, reason.NodeOffline)
		})
		time.Sleep(10 * time.Minute)
		if got := l.sim.Effects(210, pvesim.Created); got != 1 {
			t.Errorf("got it created %d times, want once", got)
		}
		l.sim.StartNode("pve2")
		l.converge()
	})
}
