package plan

import (
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// TestOtherNodeIsReported: a guest on another node than its manifest names is in sync, and reported.
func TestOtherNodeIsReported(t *testing.T) {
	for _, node := range []string{"pve1", "pve2"} {
		want, live := fixture.WantWeb(), fixture.LiveWeb(guest.StatusRunning)
		want.Node, live.Node = "pve1", node
		p := New(Desired{Cluster: "home", Guests: []guest.Desired{want}, Owned: map[int]journal.Owned{201: fixture.Owned201()}},
			cluster.Snapshot{Guests: map[int]guest.Observed{201: live}}).Guests[0]
		reported := len(p.Conditions) == 1 && p.Conditions[0].Type == Warned && p.Conditions[0].Reason == reason.OtherNode
		if reported != (node == "pve2") || !p.Converged() {
			t.Errorf("%s: got %+v, converged %t, want it reported only on another node, and in sync", node, p.Conditions, p.Converged())
		}
	}
}
