package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/placement"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// chooseNodes chooses nodes for the new guests whose manifests leave the choice to the agent, and journals the choices before they are used. A choice stays
// until the guest is disowned. It is made again if its node is offline or in maintenance before the guest is created.
func (e *Engine) chooseNodes(ctx context.Context) {
	if !e.revision.force.Accepted.Valid() {
		return
	}
	before, journaled := e.unplaced, false
	state, snapshot := e.opts.Journal.State(), e.readings.observer.Snapshot()
	records := e.unneededChoices(state)
	e.unplaced = nil
	if isNew := e.newGuests(state, snapshot); len(isNew) > 0 {
		choices, waiting := placement.Choose(placement.Input{
			Inventory: snapshot.Inventory, Guests: withoutUnavailableNodes(e.guests, isNew, snapshot.Inventory), Images: e.revision.force.Accepted.Set().Images, Objects: e.objects(), Rules: snapshot.Objects[kinds.AffinityRules],
			New:   func(d *guest.Desired) bool { return isNew[d.Label()] },
			Stays: func(d *guest.Desired, node string) string { return plan.CloneStays(d, node, snapshot) },
		})
		e.unplaced = unplaced(waiting)
		for _, c := range choices {
			if why := e.choiceWaits(c); why != "" {
				e.unplaced[c.Guest.Label()] = plan.Unplaced{Why: fmt.Sprintf("%s would be chosen now (%s), but %s", c.Node, c.Reason, why), Fits: true}
				continue
			}
			records = append(records, journal.Placed{VMID: c.Guest.VMID, Kind: string(c.Guest.Kind), Name: c.Guest.Name, Node: c.Node, Reason: c.Reason})
		}
	}
	if len(records) > 0 && e.basis.Load().NoWrites == reason.WritesAllowed {
		if err := e.opts.Journal.Append(ctx, records...); err != nil {
			e.log.WarnContext(ctx, "nodes not chosen", "error", err)
		} else {
			journaled = true
			e.tellChoices(records)
			e.assign()
		}
	}
	if journaled || !maps.Equal(before, e.unplaced) {
		e.setBasis(e.basis.Load().Waits)
	}
}

// newGuests returns the labels of the guests that certainly do not exist and whose manifests leave the node to the agent. No call that creates one of them is
// under way, and their templates were read, or could not be.
func (e *Engine) newGuests(state journal.State, snapshot cluster.Snapshot) map[string]bool {
	var isNew map[string]bool
	open := make(map[object.Key]bool, len(state.Open))
	for _, step := range state.Open {
		open[step.Key()] = true
	}
	for i := range e.guests {
		d := &e.guests[i]
		if d.Placement == nil || d.VMID == 0 || snapshot.Absent[d.VMID] != cluster.Gone {
			continue
		}
		key := object.Guest(d.VMID)
		if _, seen := snapshot.Guests[d.VMID]; seen || open[key] || state.Repeated[d.VMID] || e.queue.Busy(key) || e.lanes.holds(key) || plan.AwaitsTemplate(d, snapshot) {
			continue
		}
		if isNew == nil {
			isNew = make(map[string]bool)
		}
		isNew[d.Label()] = true
	}
	return isNew
}

// withoutUnavailableNodes returns the guests, with no node for the new ones whose chosen node is not available any more.
func withoutUnavailableNodes(guests []guest.Desired, isNew map[string]bool, inventory cluster.Inventory) []guest.Desired {
	out := guests
	for i := range guests {
		d := &guests[i]
		if d.Placement == nil || !slices.Contains(inventory.Offline, d.Node) && !slices.Contains(inventory.Maintenance, d.Node) || !isNew[d.Label()] {
			continue
		}
		if sameSlice(out, guests) {
			out = slices.Clone(guests)
		}
		out[i].Node = ""
	}
	return out
}

// choiceWaits returns why a choice is not made now, "" if it is: the guest is not created now, and what the nodes have left will be different when it is.
func (e *Engine) choiceWaits(c placement.Choice) string {
	basis := e.basis.Load()
	switch policy := e.policies.Of(c.Guest); {
	case basis.NoWrites != reason.WritesAllowed:
		return "nothing may be written: " + basis.Why
	case policy.Observe:
		return "the guest has mode: observe"
	case policy.Suspend.Active(time.Now()):
		return policy.Suspend.String()
	}
	return ""
}

// unneededChoices returns the records that end the choices for guests that no manifest names any more and that the agent does not own.
func (e *Engine) unneededChoices(state journal.State) []journal.Body {
	if len(state.Placed) == 0 {
		return nil
	}
	named := make(map[int]bool, len(e.guests))
	for i := range e.guests {
		named[e.guests[i].VMID] = true
	}
	for _, step := range state.Open {
		named[step.VMID] = true
	}
	var ends []journal.Body
	for _, vmid := range slices.Sorted(maps.Keys(state.Placed)) {
		if _, owned := state.Owned[vmid]; !owned && !named[vmid] {
			ends = append(ends, journal.Placed{VMID: vmid})
		}
	}
	return ends
}

func unplaced(waiting map[string]string) map[string]plan.Unplaced {
	out := make(map[string]plan.Unplaced, len(waiting))
	for label, why := range waiting {
		out[label] = plan.Unplaced{Why: why}
	}
	return out
}

func (e *Engine) tellChoices(records []journal.Body) {
	for _, r := range records {
		if p, isPlaced := r.(journal.Placed); isPlaced && p.Node != "" {
			e.events.Happened(event.GuestPlaced, event.Details{Fields: []any{"vmid", p.VMID, "guest", p.Kind + "/" + p.Name, "node", p.Node, "reason", p.Reason}})
		}
	}
}

// placedInPreview returns the guests with the nodes that would be chosen now for those without a choice in the journal, and why the others wait.
func placedInPreview(want plan.Desired, images []image.Desired, objects []kind.Desired, seen cluster.Snapshot) (guests []guest.Desired, waiting map[string]plan.Unplaced) {
	choices, unfit := placement.Choose(placement.Input{
		Inventory: seen.Inventory, Guests: want.Guests, Images: images, Objects: objects, Rules: seen.Objects[kinds.AffinityRules],
		New: func(d *guest.Desired) bool {
			if d.VMID == 0 {
				return len(plan.Candidates(d, want, seen.Inventory)) == 0
			}
			_, exists := seen.Guests[d.VMID]
			return !exists && seen.Absent[d.VMID] == cluster.Gone
		},
		Stays: func(d *guest.Desired, node string) string { return plan.CloneStays(d, node, seen) },
	})
	if len(choices) == 0 {
		return want.Guests, unplaced(unfit)
	}
	byLabel := make(map[string]placement.Choice, len(choices))
	for _, c := range choices {
		byLabel[c.Guest.Label()] = c
	}
	guests = slices.Clone(want.Guests)
	for i := range guests {
		if c, chosen := byLabel[guests[i].Label()]; chosen {
			guests[i].Node, guests[i].WhyNode = c.Node, c.Reason
		}
	}
	return guests, unplaced(unfit)
}
