package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/verify"
)

// enforce makes a revision the desired state.
func (e *Engine) enforce(force intake.InForce) {
	if force.Since != e.revision.force.Since {
		e.revision.convergence = convergence{}
	}
	if known := e.revision.force.Accepted; known.Valid() && force.Accepted.Valid() && known.Revision().Commit() == force.Accepted.Revision().Commit() {
		force.Accepted = known // its guests have the newer assignments
	}
	if before := e.revision.force.Accepted; before.Valid() && force.Accepted.Valid() { // at the start of the agent nothing has changed
		e.calmChanged(changedObjects(before.Set(), force.Accepted.Set()))
	}
	e.revision.force, e.revision.epoch = force, max(e.revision.epoch, force.Epoch)
	e.assign()
}

// take processes the outcome of a poll. It returns whether another revision came into force.
func (e *Engine) take(ctx context.Context, p intake.Polled) (changed bool) {
	changed = p.InForce.Since != e.revision.force.Since
	if p.Root != (verify.RootInfo{}) {
		e.revision.source.RootExpires = p.Root.Expiry
	}
	e.enforce(p.InForce)
	if changed && !p.InForce.Resumed {
		clearFailures(e.tracks)
	}
	e.revision.source.Polled, e.revision.source.Error, e.revision.fetchErr, e.revision.unread = p.Began, "", p.Err, p.Unchecked
	e.revision.source.Reason = gitsource.FaultOf(p.Err)
	if p.Err != nil {
		e.revision.source.Error = p.Err.Error()
		e.revision.noteSource(ctx)
		return changed
	}
	e.revision.source.LastSuccess, e.revision.source.Remote = p.At, p.Head.Remote
	e.revision.noteSource(ctx)
	e.revision.noteHead(fetchedHead{p.Head.Commit, p.At})
	e.revision.pass(p.Ahead, changed)
	if p.Unchecked != nil {
		return changed // the head was not checked
	}
	e.revision.refuse(p.Refusal, changed)
	e.revision.wait(p.Waiting, changed || p.Refusal != nil)
	return changed
}

// assign lowers the manifests in force again if the assignment of a vmid has changed.
func (e *Engine) assign() {
	if !e.revision.force.Accepted.Valid() {
		return
	}
	accepted, err := e.revision.force.Accepted.Assign(e.opts.Journal.State())
	if err != nil {
		e.log.Warn("vmid assigned twice, the guests stay unchanged", "error", err) // the intake refuses such a revision
		return
	}
	e.revision.force.Accepted = accepted
	e.resolveGuards(time.Now())
}

// sameSlice reports whether two slices share their elements. It does not compare the guests.
func sameSlice(a, b []guest.Desired) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// relevantVMIDs returns the vmids of the desired guests and of the guests that the agent owns, sorted.
func relevantVMIDs(guests []guest.Desired, state journal.State) []int {
	set := make(map[int]bool, len(guests)+len(state.Owned))
	for i := range guests {
		set[guests[i].VMID] = true
	}
	for vmid := range state.Owned {
		set[vmid] = true
	}
	delete(set, 0)
	return slices.Sorted(maps.Keys(set))
}

// templates returns what chooses from the list of guests those of which clones are wanted.
func (e *Engine) templates() func(cluster.Inventory) []int {
	guests := e.guests
	return func(list cluster.Inventory) []int { return plan.Templates(guests, list) }
}

// vmids returns the vmids of the guests to observe, sorted: the guests in manifests, and the guests that the agent owns.
func (e *Engine) vmids() []int { return relevantVMIDs(e.guests, e.opts.Journal.State()) }
