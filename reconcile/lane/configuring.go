package lane

import (
	"context"
	"maps"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
)

// beginConfiguring returns the record of a guest that a step is about to create: with what it is created, which a manifest that was corrected after a failure says
// in another way. From now until the guest was seen configured, the fields that its manifest lists under ignoreFields are written too, and until it was seen
// started, its start is the first one.
func (w *Worker) beginConfiguring(basis *Basis, step plan.Step, state journal.State) []journal.Body {
	before, isOwned := state.Owned[step.Guest.VMID]
	if step.Op != cluster.OpCreate || !isOwned {
		return nil
	}
	owned := before
	owned.Configuring, owned.Unstarted = true, true
	if d, named := basis.desired(step.Guest.VMID); named {
		owned.CreatedWith = w.vault.CreatedWith(*d).String()
	}
	if owned == before {
		return nil
	}
	return []journal.Body{owned}
}

// noteCreated journals what a plan found of a new guest: that it was configured, so that the fields that its manifest lists under ignoreFields are left alone from
// now on, and that it was started.
func (w *Worker) noteCreated(ctx context.Context, owned journal.Owned, p plan.Guest) error {
	return w.append(ctx, p.Created(owned))
}

// onlyConfigures reports whether a plan contains a step only because the guest was not seen configured yet. If such a step was just executed, the guest had its first
// configuration, and a field of ignoreFields does not keep the value that was written to it.
func onlyConfigures(want plan.Desired, got cluster.Snapshot, step plan.Step) bool {
	owned := want.Owned[step.Guest.VMID]
	if !owned.Configuring || step.Op == cluster.OpCreate {
		return false
	}
	owned.Configuring = false
	want.Owned = maps.Clone(want.Owned)
	want.Owned[step.Guest.VMID] = owned
	later := plan.New(want, got)
	return len(later.Guests) == 1 && !slices.ContainsFunc(later.Guests[0].Steps, func(s plan.Step) bool { return sameEffect(s, step) })
}
