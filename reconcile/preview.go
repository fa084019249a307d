package reconcile

import (
	"context"
	"fmt"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
)

// Preview is a plan that nobody carries out, with what it was made from and the gate that would judge it.
type Preview struct {
	Plan     plan.Plan
	Observed cluster.Snapshot
	Gate     gate.Gate
}

// NewPreview plans a set of manifests against the cluster as it is now. State is what the agent remembers; the zero State is an agent
// that owns nothing. It writes nothing, neither to the cluster nor to disk: guests without a vmid keep none.
func NewPreview(ctx context.Context, reader cluster.Reader, set manifest.Set, revision string, state journal.State) (Preview, error) {
	guests, err := plan.WantedGuests(set, state)
	if err != nil {
		return Preview{}, err
	}
	vmids := make([]int, 0, len(guests)+len(state.Owned))
	named := make(map[int]bool)
	for _, d := range guests {
		if d.VMID != 0 {
			vmids, named[d.VMID] = append(vmids, d.VMID), true
		}
	}
	for vmid := range state.Owned {
		if !named[vmid] {
			vmids = append(vmids, vmid)
		}
	}
	seen, err := observe.ReadAll(ctx, reader, vmids, observe.UnderHA(guests))
	if err != nil {
		return Preview{}, fmt.Errorf("read cluster: %w", err)
	}
	w := &lane.Basis{
		Cluster: set.Cluster.Name, Revision: revision, Guests: guests, Policies: gate.NewPolicies(guests), Guards: set.Cluster.Guards,
		Inventory: seen.Inventory, NoWrites: gate.WritesAllowed,
	}
	planned := plan.New(w.Desired(state), seen)
	w.Waits = plan.NewOrdering(planned, guests, nil, time.Now()).Waits
	return Preview{Plan: planned, Observed: seen, Gate: w.Gate(state, time.Now())}, nil
}
