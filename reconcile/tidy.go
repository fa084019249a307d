package reconcile

import (
	"context"
	"slices"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/secret"
)

// tidy journals changes that need no step: ownership of guests that are gone or were renamed, vmids that no guest uses, volumes that slots hold now,
// expired orders, approvals whose change has ended, and repairs of objects that were long ago.
func (e *Engine) tidy(ctx context.Context) {
	if !e.lease.mayWrite(e.revision.force) {
		return
	}
	look := e.atRest()
	state := look.state
	named := make(map[int]guest.Ref, len(e.guests))
	for _, d := range e.guests {
		named[d.VMID] = d.Ref
	}
	records := slices.Concat(e.ownershipChanges(look, named), e.objectChanges(look), e.fileChanges(look), e.unusedVMIDs(state), e.keptVMIDs(state), e.slotChanges(look), expiredOrders(state, time.Now()), e.endedApprovals(state), e.orphanedOrders(state, named), order.EndedOverrides(state, time.Now()), endedFlaps(state, time.Now()), endedSeen(state))
	if len(records) == 0 {
		return
	}
	if err := e.opts.Journal.Append(ctx, records...); err != nil {
		e.log.WarnContext(ctx, "journal not written", "error", err)
		return
	}
	e.assign()
}

// ownershipChanges confirms the records of guests that were read with their marker, and gives up guests that no manifest names if they are gone or
// if another guest certainly has their vmid. A guest whose manifest has a new name keeps its record under the new name, unless the signer of
// the manifest may not touch the guest.
func (e *Engine) ownershipChanges(look rest, named map[int]guest.Ref) []journal.Body {
	var records []journal.Body
	state, snapshot, scope := look.state, look.read, e.basis.Load().Scope(look.state)
	baselines := e.baselines()
	for vmid, owned := range state.Owned {
		if !look.has(object.Guest(vmid)) {
			continue
		}
		ref, isNamed := named[vmid]
		live, seen := snapshot.Guests[vmid]
		complete := seen && !cluster.PartlyCreated(live)
		changed := false
		if complete { // also if the lane's turn ended before it could confirm the record
			owned, changed = ownership.Confirm(owned, live)
		}
		switch {
		case isNamed && ref.Name != owned.Name && scope.Guest(ref):
			owned.Name, changed = ref.Name, true
		case isNamed:
		case snapshot.Absent[vmid] == cluster.Gone:
			records, changed = append(records, disowned(state, vmid, "gone")...), false
		case complete && ownership.Compare(owned, live).IsDifferentGuest():
			records, changed = append(records, disowned(state, vmid, "the vmid went to another guest")...), false
		}
		if baseline, moved := baselines(vmid, owned); moved {
			owned.CreatedWith, changed = baseline, true
		}
		if changed {
			records = append(records, owned)
		}
		if g := state.Guarded[vmid]; complete && guard.IsProtectionLifted(g) && !live.IsProtected() {
			records = append(records, guard.ProtectionWritten(g))
		}
	}
	return records
}

// baselines returns a function that returns what a guest was created with, and whether its record has to follow its manifest: the record has none yet, or the
// manifest lists such a field under ignoreFields.
func (e *Engine) baselines() func(vmid int, owned journal.Owned) (string, bool) {
	wanted := make(map[int]*guest.Desired, len(e.guests))
	for i := range e.guests {
		wanted[e.guests[i].VMID] = &e.guests[i]
	}
	states := sync.OnceValue(func() map[secret.Place]secret.State { return e.vault.States(e.guests) })
	id := e.vault.KeyID()
	return func(vmid int, owned journal.Owned) (string, bool) {
		d, named := wanted[vmid]
		baseline := secret.ParseBaseline(owned.CreatedWith)
		if !named || owned.Claiming || !baseline.MayFollow(d, id) {
			return "", false
		}
		next, changed := baseline.Follow(d, states())
		return next.String(), changed
	}
}

// noteCreated journals which new guests a plan found configured, or started, if the lane's turn ended before it could.
func (e *Engine) noteCreated(ctx context.Context, planned plan.Plan) {
	if !e.lease.mayWrite(e.revision.force) {
		return
	}
	look := e.atRest()
	var records []journal.Body
	for _, g := range planned.Guests {
		owned, isOwned := look.state.Owned[g.Ref.VMID]
		if isOwned && g.Created(owned) != owned && look.has(object.Guest(g.Ref.VMID)) {
			records = append(records, g.Created(owned))
		}
	}
	if len(records) == 0 {
		return
	}
	if err := e.opts.Journal.Append(ctx, records...); err != nil {
		e.log.WarnContext(ctx, "journal not written", "error", err)
	}
}

// disowned returns the records that end the ownership of a guest that is gone without the agent. Its guards are kept if an approval is needed to
// create it again: to remove a manifest and to restore it does not replace that approval.
func disowned(state journal.State, vmid int, reason string) []journal.Body {
	records := []journal.Body{journal.Disowned{VMID: vmid, Reason: reason}}
	if kept, needed := guard.Keep(state, vmid); needed {
		records = append(records, kept)
	}
	return records
}

// unusedVMIDs ends the assignment of a vmid to a label if the manifest no longer lets the agent choose the vmid and no guest is owned under it.
func (e *Engine) unusedVMIDs(state journal.State) []journal.Body {
	uses := make(map[journal.Label]bool)
	pinned := make(map[int]bool)
	for _, g := range e.revision.force.Accepted.Set().Guests {
		pinned[g.VMID] = true
		if g.VMID == 0 {
			uses[journal.Label{Kind: string(g.Kind), Name: g.Name}] = true
		}
	}
	var records []journal.Body
	for label, vmid := range state.Assigned {
		if _, owned := state.Owned[vmid]; !uses[label] && (!owned || pinned[vmid]) && !isOpen(state, vmid) {
			records = append(records, journal.Assigned{Kind: label.Kind, Name: label.Name})
		}
	}
	return records
}

// keptVMIDs journals the vmids of guests that are owned under a label without an assigned vmid, so that no other manifest gets one of them.
func (e *Engine) keptVMIDs(state journal.State) []journal.Body {
	var records []journal.Body
	for i, g := range e.revision.force.Accepted.Set().Guests {
		if g.VMID != 0 || i >= len(e.guests) {
			continue
		}
		d := e.guests[i] // in the order of the manifests
		if d.VMID == 0 || d.Label() != g.Label() {
			continue
		}
		if _, known := state.Assigned[journal.Label{Kind: string(d.Kind), Name: d.Name}]; !known {
			records = append(records, journal.Assigned{Kind: string(d.Kind), Name: d.Name, VMID: d.VMID})
		}
	}
	return records
}

// expiredOrders ends the orders that were not used in time.
func expiredOrders(state journal.State, now time.Time) []journal.Body {
	return state.ExpiredOrders("", func(o journal.Order) bool {
		return o.State == journal.OrderSeen && !now.Before(o.ProvenTime.Add(gate.OrderLifetime))
	})
}

// endedApprovals ends the approvals of changes of lists that have begun and ended without the call that uses them up: the manifest wants another list, or somebody made
// the remaining calls. Who asks for the same list again needs new ones.
func (e *Engine) endedApprovals(state journal.State) []journal.Body {
	return state.ExpiredOrders("the change that it approves has ended", func(o journal.Order) bool {
		return o.State == journal.OrderSeen && o.Change != journal.ListChange{} &&
			plan.HasListChangeEnded(o.Change, e.objects(), e.readings.observer.Snapshot().Objects[guest.Kind(o.Change.Kind)])
	})
}

// orphanedOrders refuses the one-shot operations of guests that no manifest names any more.
func (e *Engine) orphanedOrders(state journal.State, named map[int]guest.Ref) []journal.Body {
	var records []journal.Body
	for _, o := range state.Orders {
		if _, isNamed := named[o.VMID]; o.VMID == 0 || isNamed || o.State != journal.OrderSeen || !e.revision.force.Accepted.Valid() {
			continue
		}
		refused := o.As(journal.OrderRefused)
		refused.Why = "no manifest names the guest any more"
		records = append(records, refused)
	}
	return records
}

// isOpen reports whether a step of the guest is open in the journal.
func isOpen(state journal.State, vmid int) bool {
	return slices.ContainsFunc(state.Open, func(o journal.OpenStep) bool { return o.VMID == vmid })
}
