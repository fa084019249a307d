package reconcile

import (
	"context"
	"fmt"
	"time"

	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
)

// Preview is a plan that nobody carries out, with what it was made from and the gate that would judge it.
type Preview struct {
	Plan     Plan
	Observed Observed
	Gate     Gate
}

// NewPreview plans a set of manifests against the cluster as it is now. State is what the agent remembers; the zero State is an agent
// that owns nothing. It writes nothing, neither to the cluster nor to disk: guests without a vmid keep none.
func NewPreview(ctx context.Context, reader Reader, set manifest.Set, revision string, state journal.State) (Preview, error) {
	guests, err := WantedGuests(set, state)
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
	seen, err := ReadAll(ctx, reader, vmids, underHA(guests))
	if err != nil {
		return Preview{}, fmt.Errorf("read cluster: %w", err)
	}
	w := &world{
		cluster: set.Cluster.Name, revision: revision, guests: guests, policies: newPolicies(guests), guards: set.Cluster.Guards,
		inventory: seen.Inventory, noWrites: WritesAllowed,
	}
	planned := NewPlan(w.desired(state), seen)
	w.waits = newOrdering(planned, guests, nil, time.Now()).waits
	return Preview{Plan: planned, Observed: seen, Gate: w.gate(state, time.Now())}, nil
}
