package reconcile

import (
	"fmt"
	"strings"
	"time"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
)

// ownSnapshots are the snapshots that the agent has taken by the schedules of manifests, as of the newest assessment.
type ownSnapshots struct {
	state     journal.State
	schedules map[int]*guest.SnapshotSchedule // by vmid
}

// noteSnapshots takes what the journal and the manifests say of the agent's snapshots.
func (e *Engine) noteSnapshots(state journal.State) {
	e.snapshots = ownSnapshots{state: state, schedules: make(map[int]*guest.SnapshotSchedule)}
	for i := range e.guests {
		if d := &e.guests[i]; d.Snapshots != nil && d.VMID != 0 {
			e.snapshots.schedules[d.VMID] = d.Snapshots
		}
	}
}

// snapshotConditions returns what a person should know of the agent's snapshots of a guest.
func (e *Engine) snapshotConditions(vmid int) []plan.Condition {
	if _, recorded := e.snapshots.state.Snapshots[vmid]; !recorded {
		return nil
	}
	record, schedule := order.SnapshotsOf(e.snapshots.state, vmid), e.snapshots.schedules[vmid]
	if schedule == nil {
		if len(record.Taken) == 0 || !e.force.Accepted.Valid() {
			return nil
		}
		return []plan.Condition{{
			Type: plan.Leftover, Reason: plan.ReasonSnapshotsLeft, Message: "the agent took snapshots of the guest, and the manifest has no schedule any more: " + namesOf(record.Taken),
			Hint: "delete those that are not needed by an order delete-snapshot, or in Proxmox; or restore spec.snapshots",
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
		Type: plan.Warned, Reason: plan.ReasonSnapshotFailed, Message: strings.Join(words, "; "),
		Hint: "remove the cause; a storage without snapshots cannot have a schedule. The next try is at " + schedule.Times.Next(time.Now()).UTC().Format(time.RFC3339),
	}}
}

func namesOf(taken []journal.TakenSnapshot) string {
	var names []string
	for _, entry := range taken {
		names = append(names, entry.Name)
	}
	return strings.Join(names, ", ")
}
