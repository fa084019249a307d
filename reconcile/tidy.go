package reconcile

import (
	"context"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/plan"
)

// tidy journals what follows from the state of things without any step: guests that are gone or were never ours, vmids that nobody
// uses, names that changed, and orders that have expired.
func (e *Engine) tidy(ctx context.Context) {
	if !e.mayWrite() {
		return
	}
	state := e.opts.Journal.State()
	named := make(map[int]string, len(e.guests))
	for _, d := range e.guests {
		named[d.VMID] = d.Name
	}
	records := slices.Concat(e.ownershipNews(state, named), e.unusedVMIDs(state), e.keptVMIDs(state))
	records = append(records, expiredOrders(state, time.Now())...)
	if len(records) == 0 {
		return
	}
	if err := e.opts.Journal.Append(ctx, records...); err != nil {
		e.log.WarnContext(ctx, "journal does not take records", "error", err)
		return
	}
	e.relower()
}

// ownershipNews gives up guests that no manifest names and that are gone, or whose vmid is certainly somebody else's by now. A guest
// whose manifest got another name keeps its record under the new one.
func (e *Engine) ownershipNews(state journal.State, named map[int]string) []journal.Body {
	var records []journal.Body
	for vmid, owned := range state.Owned {
		if e.queue.Busy(vmid) || isOpen(state, vmid) {
			continue
		}
		name, isNamed := named[vmid]
		live, seen := e.observer.Seen[vmid]
		switch {
		case isNamed && name != owned.Name:
			owned.Name = name
			records = append(records, owned)
		case isNamed:
		case e.observer.Absent[vmid] == cluster.Gone:
			records = append(records, journal.Disowned{VMID: vmid, Reason: "gone"})
		case seen && !cluster.PartlyCreated(live) && ownership.Weigh(owned, live).Stranger():
			records = append(records, journal.Disowned{VMID: vmid, Reason: "the vmid went to another guest"})
		}
	}
	return records
}

// unusedVMIDs gives back the vmids of labels that no manifest leaves to the range any more, once nothing is owned under them.
func (e *Engine) unusedVMIDs(state journal.State) []journal.Body {
	uses := make(map[journal.Label]bool)
	for _, g := range e.accepted.Set.Guests {
		if g.VMID == 0 {
			uses[journal.Label{Kind: string(g.Kind), Name: g.Name}] = true
		}
	}
	pinned := make(map[int]bool)
	for _, g := range e.accepted.Set.Guests {
		pinned[g.VMID] = true
	}
	var records []journal.Body
	for label, vmid := range state.Assigned {
		if _, owned := state.Owned[vmid]; !uses[label] && (!owned || pinned[vmid]) && !isOpen(state, vmid) {
			records = append(records, journal.Assigned{Kind: label.Kind, Name: label.Name})
		}
	}
	return records
}

// keptVMIDs assigns to labels without a vmid the guests that are owned under them, so that no other manifest is given one of those from now on.
func (e *Engine) keptVMIDs(state journal.State) []journal.Body {
	var records []journal.Body
	for i, g := range e.accepted.Set.Guests {
		if g.VMID != 0 || i >= len(e.guests) {
			continue
		}
		d := e.guests[i] // in the manifests' order
		if d.VMID == 0 || d.Label() != g.Label() {
			continue
		}
		if _, known := state.Assigned[journal.Label{Kind: string(d.Kind), Name: d.Name}]; !known {
			records = append(records, journal.Assigned{Kind: string(d.Kind), Name: d.Name, VMID: d.VMID})
		}
	}
	return records
}

// expiredOrders ends the orders that nothing used in time.
func expiredOrders(state journal.State, now time.Time) []journal.Body {
	var records []journal.Body
	for _, o := range state.Orders {
		if o.State == journal.OrderSeen && !now.Before(o.ProvenTime.Add(gate.OrderLife)) {
			ended := o.Ordered
			ended.State = journal.OrderExpired
			records = append(records, ended)
		}
	}
	return records
}

// forgetTracks drops what is remembered of guests that left the plan, so that a vmid that comes back starts afresh.
func (e *Engine) forgetTracks(plan plan.Plan) {
	keep := make(map[trackKey]bool, len(plan.Guests))
	for _, p := range plan.Guests {
		keep[keyOf(p.Ref)] = true
	}
	for key := range e.tracks {
		if !keep[key] && !e.queue.Busy(key.vmid) {
			delete(e.tracks, key)
		}
	}
}

func keyOf(ref guest.Ref) trackKey {
	if ref.VMID != 0 {
		return trackKey{vmid: ref.VMID}
	}
	return trackKey{label: ref.Label()}
}
