package lane

import (
	"context"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/slots"
)

// detailFills is the key of journal.Begun.Detail that lists the slots that the step fills, and that the record did not list as being filled.
const detailFills = "fills"

// beginFilling returns the intent record of a step that allocates volumes, and with it the record of the slots that the step fills. From now on
// it is unknown whether these slots hold a volume, until a reading shows one or the step certainly had no effect. Seen is the reading that the step
// was planned from.
func beginFilling(basis *Basis, begun journal.Begun, step plan.Step, state journal.State, seen guest.Observed) []journal.Body {
	var fills []string
	for _, call := range step.Calls {
		fills = append(fills, guest.AllocatedSlots(call.Kind, call.Params)...)
	}
	record, recorded := slots.Of(state.Attached, state.Owned[begun.VMID])
	if len(fills) == 0 || !recorded {
		return []journal.Body{begun}
	}
	if d, named := basis.desired(begun.VMID); named && step.Op != cluster.OpCreate {
		record, _ = slots.Follow(record, d, seen)
	}
	record, added := slots.Begin(record, fills)
	slices.Sort(added)
	begun.Detail[detailFills] = strings.Join(added, " ")
	return []journal.Body{begun, record}
}

// endFilling returns the record of the slots of a guest after a step that filled none of them.
func (w *Worker) endFilling(ctx context.Context, begun journal.Begun, c conclusion, state journal.State) []journal.Body {
	added := strings.Fields(begun.Detail[detailFills])
	record, recorded := slots.Of(state.Attached, state.Owned[begun.VMID])
	if len(added) == 0 || !recorded {
		return nil
	}
	switch c.result {
	case journal.Done:
		return nil
	case journal.Unknown:
		if !w.filledNothing(ctx, begun, record) {
			return nil
		}
	case journal.NotRun, journal.Failed:
	}
	return []journal.Body{slots.Revert(record, added)}
}

// filledNothing reports whether a step with an unknown outcome created no volume. The process that began the step can tell: it has waited until no
// call of the step could still act, and a volume that came and went meanwhile held no data. After a restart of the agent, a person may have detached
// and removed the volume, unless the step has no task.
func (w *Worker) filledNothing(ctx context.Context, begun journal.Begun, record journal.Attached) bool {
	if _, seen := w.fillsSeen.Load(begun.Step); !seen {
		return false
	}
	row := cluster.Row{Kind: guest.Kind(begun.Kind), VMID: begun.VMID, Node: begun.Node}
	seen, err := observe.ReadGuest(ctx, w.cluster, row, guest.Version{})
	return err == nil && slots.Explains(record, seen)
}

// neverRan reports whether Proxmox certainly did not execute the call of an open step: the call would have left a task.
func (w *Worker) neverRan(ctx context.Context, open journal.OpenStep) bool {
	hasTask := len(open.TaskTypes) > 0 && open.Detail[detailLast] == "" // of the call that fills the slots
	if open.Detail[detailFills] == "" || !hasTask || open.Dispatched > 0 {
		return false
	}
	ran, err := waitForLostTask(ctx, w.cluster, open)
	return err == nil && !ran
}

// recordSlots journals the first record of the slots of an owned guest that has none, because an older release created or adopted it.
func (w *Worker) recordSlots(ctx context.Context, basis *Basis, state journal.State, t *turn) (journal.State, error) {
	d, named := basis.desired(t.Key.VMID)
	owned, isOwned := state.Owned[t.Key.VMID]
	if _, recorded := slots.Of(state.Attached, owned); recorded || !named || !isOwned || t.Absence != "" {
		return state, nil
	}
	if t.Seen.Kind != d.Kind || cluster.PartlyCreated(t.Seen) || ownership.Compare(owned, t.Seen).Conflict(t.Seen.Kind) != "" {
		return state, nil
	}
	if err := w.append(ctx, slots.Unrecorded(owned, d, t.Seen)); err != nil {
		return state, err
	}
	return w.journal.State(), nil
}

// firstSlots returns the first record of the slots of a guest that the agent takes ownership of.
func firstSlots(basis *Basis, step plan.Step, owned journal.Owned, seen guest.Observed) journal.Attached {
	d, named := basis.desired(step.Guest.VMID)
	if step.Op == cluster.OpCreate || !named {
		return slots.Created(owned)
	}
	return slots.Adopted(owned, d, seen)
}
