package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/plan"
)

// identify completes the ownership record of the guest with what the reading of this turn shows, and returns the state with the new record. The
// tag confirms the record. Before the tag is there, the uuid of a new virtual machine is recorded as soon as it is known, so that
// later edits of the guest cannot hide the guest.
func (w *Worker) identify(ctx context.Context, basis *Basis, state journal.State, t *turn) (journal.State, error) {
	before, isOwned := state.Owned[t.Key.VMID]
	if !isOwned || t.Absence != "" || cluster.PartlyCreated(t.Seen) {
		return state, nil
	}
	owned, confirmed := ownership.Confirm(before, t.Seen)
	if d, named := basis.desired(t.Key.VMID); confirmed && named && len(d.Ignore) == 0 && !plan.CloneLeaves(d, t.Seen) {
		owned.Configuring = false // its manifest ignores nothing, and it is on its node
	}
	if !confirmed {
		var err error
		if owned, err = w.identifyNew(ctx, before, t.Seen); err != nil {
			return state, err
		}
	}
	if owned == before {
		return state, nil
	}
	if err := w.append(ctx, owned); err != nil {
		return state, err
	}
	return w.journal.State(), nil
}

// identifyNew returns the record of a guest that was just created and does not have its tag yet. If nothing but its task identifies the guest, and
// the guest was replaced since, the record no longer names the task.
func (w *Worker) identifyNew(ctx context.Context, owned journal.Owned, live guest.Observed) (journal.Owned, error) {
	switch proof := ownership.Compare(owned, live); {
	case proof.HasClaimNote:
		owned.UUID = guest.SMBIOSUUID(live)
	case proof.HasTask:
		made, err := w.isMadeBy(ctx, owned, live)
		switch {
		case err != nil:
			return owned, fmt.Errorf("find out whether task %s created guest %d: %w", owned.Task, owned.VMID, err)
		case made:
			owned.UUID = guest.SMBIOSUUID(live)
		default:
			owned.Task = ""
		}
	}
	return owned, nil
}

// replacingTasks are the types of tasks after which another guest, or a guest on another node, may have the vmid.
var replacingTasks = []string{
	"qmdestroy", "vzdestroy", "qmcreate", "vzcreate", "qmrestore", "vzrestore", "qmigrate", "vzmigrate", "hamigrate",
}

// isMadeBy reports whether the guest is the one that the record's task created: the task succeeded on the guest's node, and the node's list of
// tasks, which must still contain the task, has no later task that may have replaced the guest.
func (w *Worker) isMadeBy(ctx context.Context, owned journal.Owned, live guest.Observed) (bool, error) {
	task, err := w.cluster.Wait(ctx, owned.Task)
	if errors.Is(err, cluster.ErrNoTask) || err == nil && (!task.OK() || task.Node != live.Node || owned.Kind != string(live.Kind)) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	isOther := func(other cluster.Task) bool { return other.UPID != task.UPID }
	own, err := w.cluster.Tasks(ctx, cluster.TaskQuery{Node: task.Node, VMID: task.VMID, Types: []string{task.Type}, Since: task.Start})
	if err != nil || !slices.ContainsFunc(own, func(t cluster.Task) bool { return !isOther(t) }) {
		return false, err
	}
	later, err := w.cluster.Tasks(ctx, cluster.TaskQuery{Node: task.Node, VMID: owned.VMID, Types: replacingTasks, Since: task.Start})
	return err == nil && !slices.ContainsFunc(later, isOther), err
}
