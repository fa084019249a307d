package lane

import (
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/plan"
)

// Basis is what the lanes work by: the accepted revision, the last inventory and what stands in the way of writing. The engine makes a
// new one whenever one of them changes; nobody changes one.
type Basis struct {
	Cluster   string
	Revision  string
	Commit    string // of revision
	Guests    []guest.Desired
	Policies  gate.Policies // of guests
	Guards    manifest.Guards
	Inventory cluster.Inventory
	Seen      map[int]guest.Observed // of every guest, by vmid; nil where no volume is at stake
	NoWrites  gate.WriteStop
	Why       string
	Waits     func(step plan.Step) string
}

// Desired returns what the world and the journal want together.
func (w *Basis) Desired(state journal.State) plan.Desired {
	return plan.Desired{
		Cluster: w.Cluster, Revision: w.Revision, Guests: w.Guests, Owned: state.Owned, Remembered: state.Guarded, Applied: state.Applied, Unknown: w.Revision == "",
	}
}

// desiredFor returns what is wanted of one vmid.
func (w *Basis) desiredFor(vmid int, state journal.State) plan.Desired {
	want := w.Desired(state)
	want.Guests, want.Others, want.Around = nil, w.Guests, &plan.ClusterContext{Seen: w.Seen}
	for _, d := range w.Guests {
		if d.VMID == vmid {
			want.Guests = []guest.Desired{d}
		}
	}
	want.Owned = make(map[int]journal.Owned, 1)
	if owned, ok := state.Owned[vmid]; ok {
		want.Owned[vmid] = owned
	}
	return want
}

// startForbiddenBy returns what a guest's manifest says that keeps the agent from starting it, "" where nothing does.
func (w *Basis) startForbiddenBy(vmid int, now time.Time) string {
	for _, d := range w.Guests {
		switch {
		case d.VMID != vmid:
		case d.Observe:
			return "mode: observe"
		case d.Suspend.Active(now):
			return d.Suspend.String()
		case d.State == guest.Stopped:
			return "state: stopped"
		}
	}
	return ""
}

// row returns the guest's row of the last inventory.
func (w *Basis) row(vmid int) (cluster.Row, bool) { return w.Inventory.Row(vmid) }

// Gate returns the gate for this world at a moment.
func (w *Basis) Gate(state journal.State, now time.Time) gate.Gate {
	g := gate.Gate{
		Cluster: w.Cluster, Now: now, Policies: w.Policies, Remembered: state.Guarded, Owned: state.Owned,
		Approvals: gate.NewApprovals(state.Orders), Need: w.Guards.Approvals, Named: len(w.Guests), MaxDestroy: w.Guards.MaxDestroysPerDay,
		Destroyed: len(state.Destroys), Waits: w.Waits,
	}
	for _, open := range state.Open {
		if open.Op == string(cluster.OpDestroy) {
			g.Destroyed++
		}
	}
	if w.NoWrites != gate.WritesAllowed {
		g.NoWrites = strings.TrimSpace(string(w.NoWrites) + ": " + w.Why)
	}
	return g
}
