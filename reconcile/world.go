package reconcile

import (
	"strings"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
)

// world is what the lanes work by: the accepted revision, the last inventory and what stands in the way of writing. The engine makes a
// new one whenever one of them changes; nobody changes one.
type world struct {
	cluster   string
	revision  string
	commit    string // of revision
	guests    []guest.Desired
	policies  Policies // of guests
	guards    manifest.Guards
	inventory Inventory
	seen      map[int]guest.Observed // of every guest, by vmid; nil where no volume is at stake
	noWrites  WriteStop
	why       string
	waits     func(step Step) string
}

// WriteStop says why the agent does not write to the cluster. It is a label of metrics.
type WriteStop string

// Reasons not to write. WritesAllowed is none.
const (
	WritesAllowed  WriteStop = "allowed"
	StopNoRevision WriteStop = "no-revision" // nothing was accepted yet
	StopDryRun     WriteStop = "dry-run"
	StopJournal    WriteStop = "journal"    // the journal cannot be written
	StopNotReady   WriteStop = "cluster"    // no quorum, or no answer
	StopUnverified WriteStop = "unverified" // the accepted revision no longer verifies
	StopClosing    WriteStop = "stopping"
)

// WriteStops lists every reason, for metrics that start at zero.
func WriteStops() []WriteStop {
	return []WriteStop{WritesAllowed, StopNoRevision, StopDryRun, StopJournal, StopNotReady, StopUnverified, StopClosing}
}

// desired returns what the world and the journal want together.
func (w *world) desired(state journal.State) Desired {
	return Desired{
		Cluster: w.cluster, Revision: w.revision, Guests: w.guests, Owned: state.Owned, Remembered: state.Guarded, Applied: state.Applied, Unknown: w.revision == "",
	}
}

// only returns what is wanted of one vmid.
func (w *world) only(vmid int, state journal.State) Desired {
	want := w.desired(state)
	want.Guests, want.Others, want.around = nil, w.guests, &around{seen: w.seen}
	for _, d := range w.guests {
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

// leavesAlone returns what a guest's manifest says that keeps the agent from starting it, "" where nothing does.
func (w *world) leavesAlone(vmid int, now time.Time) string {
	for _, d := range w.guests {
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
func (w *world) row(vmid int) (Row, bool) { return w.inventory.Row(vmid) }

// gate returns the gate for this world at a moment.
func (w *world) gate(state journal.State, now time.Time) Gate {
	g := Gate{
		Cluster: w.cluster, Now: now, Policies: w.policies, Remembered: state.Guarded, Owned: state.Owned,
		Approvals: newApprovals(state.Orders), Need: w.guards.Approvals, Named: len(w.guests), MaxDestroy: w.guards.MaxDestroysPerDay,
		Destroyed: len(state.Destroys), Waits: w.waits,
	}
	for _, open := range state.Open {
		if open.Op == string(OpDestroy) {
			g.Destroyed++
		}
	}
	if w.noWrites != WritesAllowed {
		g.NoWrites = strings.TrimSpace(string(w.noWrites) + ": " + w.why)
	}
	return g
}
