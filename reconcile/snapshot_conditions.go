package reconcile

import (
	"fmt"
	"strings"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// noteSnapshots takes what the journal and the manifests say of the agent's snapshots.
func (e *Engine) noteSnapshots(state journal.State) {
	looked := e.snapshots.looked
	if looked == nil {
		looked = make(map[int]string)
	}
	e.snapshots = ownSnapshots{state: state, scheduled: make(map[int]*guest.Desired), looked: looked}
	for i := range e.guests {
		if d := &e.guests[i]; d.Snapshots != nil && d.VMID != 0 {
			e.snapshots.scheduled[d.VMID] = d
		}
	}
}

// snapshotConditions returns what a person should know of the agent's snapshots of a guest.
func (e *Engine) snapshotConditions(vmid int) []plan.Condition {
	if _, recorded := e.snapshots.state.Snapshots[vmid]; !recorded {
		return nil
	}
	record, d := order.SnapshotsOf(e.snapshots.state, vmid), e.snapshots.scheduled[vmid]
	if d == nil {
		if len(record.Taken) == 0 || !e.revision.force.Accepted.Valid() {
			return nil
		}
		return []plan.Condition{{
			Type: plan.Leftover, Reason: reason.LeftOver, Message: "the agent took snapshots of the guest, and the manifest has no schedule any more: " + namesOf(record.Taken),
			Hint: reason.DeleteSnapshots.Text,
		}}
	}
	var words []string
	if record.Failed != "" {
		words = append(words, fmt.Sprintf("the snapshot of %s was not taken: %s", record.Due.Format(time.RFC3339), record.Failed))
	}
	for _, entry := range record.Taken {
		if entry.Failed != "" {
			words = append(words, fmt.Sprintf("%s was not deleted: %s", entry.Name, entry.Failed))
		}
	}
	if len(words) == 0 {
		return nil
	}
	return []plan.Condition{{
		Type: plan.Warned, Reason: reason.Error, Message: strings.Join(words, "; "),
		Hint: reason.RemoveSnapshotCause.With(d.Snapshots.Times.Next(time.Now()).UTC().Format(time.RFC3339)),
	}}
}

// snapshotReport returns how the agent's snapshots of a guest compare with its schedule, nil if it has none. A guest of which no snapshot is known is late since
// the agent has noticed that.
func (e *Engine) snapshotReport(t *track, vmid int, now time.Time) *report.Snapshots {
	d := e.snapshots.scheduled[vmid]
	if d == nil {
		t.snapshotLate = time.Time{}
		return nil
	}
	record := order.SnapshotsOf(e.snapshots.state, vmid)
	r := &report.Snapshots{Schedule: d.Snapshots.Text, Taken: len(record.Taken), Newest: order.NewestSnapshot(record)}
	late, isLate := time.Time{}, false
	if order.IsScheduled(d, e.snapshots.state, now) {
		late, isLate = order.LateSince(d.Snapshots, record, now)
	}
	switch {
	case !isLate:
		t.snapshotLate = time.Time{}
	case !late.IsZero():
		t.snapshotLate = late
	case t.snapshotLate.IsZero():
		t.snapshotLate = now
	}
	r.LateSince = t.snapshotLate
	return r
}

func namesOf(taken []journal.TakenSnapshot) string {
	var names []string
	for _, entry := range taken {
		names = append(names, entry.Name)
	}
	return strings.Join(names, ", ")
}
