package lane

import (
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
)

// Keys of journal.Begun.Detail of a step that a schedule asks for.
const (
	detailSnapshot = "snapshot" // name of the snapshot
	detailBefore   = "before"   // the time in the record of the guest's snapshots before the step
)

// beginScheduled returns the record with which a call of a schedule begins. It is part of the append of the intent, so a time of the schedule is used at most
// once, and a snapshot is in the list of the agent's before it can exist.
func (w *Worker) beginScheduled(step plan.Step, begun journal.Begun) []journal.Body {
	record := order.SnapshotsOf(w.journal.State(), step.Guest.VMID)
	begun.Detail[detailSnapshot] = step.Order.Params[order.KeyName]
	begun.Detail[detailBefore] = record.Due.Format(time.RFC3339)
	return []journal.Body{order.BeganScheduled(record, *step.Order)}
}

// scheduledRecords returns the record with which a call of a schedule ends.
func scheduledRecords(begun journal.Begun, c conclusion, state journal.State) []journal.Body {
	record := order.SnapshotsOf(state, begun.VMID)
	if record.Identity == "" {
		return nil // the agent does not own the guest any more
	}
	before, err := time.Parse(time.RFC3339, begun.Detail[detailBefore])
	if err != nil {
		before = record.Due
	}
	why := ""
	if c.err != nil {
		why = c.err.Error()
	}
	return []journal.Body{order.EndedScheduled(record, cluster.Op(begun.Op), begun.Detail[detailSnapshot], before, orderState(c), why)}
}

// isUsedUp reports whether the order of a step has an outcome, so that its call is not made again.
func (w *Worker) isUsedUp(step plan.Step) bool {
	state := w.journal.State()
	if step.Order.Scheduled == nil {
		return !state.Orders[step.Order.Key].State.IsOpen()
	}
	for _, open := range state.Open {
		if open.Detail[detailOrder] == step.Order.Key {
			return false
		}
	}
	return order.IsUsedUp(order.SnapshotsOf(state, step.Guest.VMID), *step.Order)
}
