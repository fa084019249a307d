package lane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/epoch"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// Keys of journal.Begun.Detail that finishOrder needs.
const (
	detailProtected = plan.DetailProtected
	detailStorage   = "storage" // of a backup
)

// noteForFinish adds to an intent what finishOrder needs, also after a restart of the agent.
func noteForFinish(begun journal.Begun, step plan.Step, seen guest.Observed) {
	params := step.Calls[len(step.Calls)-1].Params
	switch step.Op { //nolint:exhaustive // of orders
	case cluster.OpRollback:
		if seen.IsProtected() {
			begun.Detail[detailProtected] = "1"
		}
	case cluster.OpBackup:
		begun.Detail[detailStorage] = params["storage"]
	}
}

// finishOrder completes what became of an order whose task has ended.
func (w *Worker) finishOrder(ctx context.Context, step journal.OpenStep, c conclusion) conclusion {
	if c.result != journal.Done {
		return c
	}
	switch cluster.Op(step.Op) { //nolint:exhaustive // the others are complete
	case cluster.OpReboot:
		return w.checkRestart(ctx, step, c)
	case cluster.OpRollback:
		return w.finishRollback(ctx, step, c)
	case cluster.OpBackup:
		c.backup, c.noBackup = w.findBackup(ctx, step)
	}
	return c
}

// checkRestart waits until the guest runs again after an order restarted it. It makes no call: an order asks for one, and a plan starts the guest if its
// manifest wants that.
func (w *Worker) checkRestart(ctx context.Context, step journal.OpenStep, c conclusion) conclusion {
	err := w.waitUntilRunning(ctx, cluster.Call{Op: cluster.OpReboot, Kind: guest.Kind(step.Kind), Node: step.Node, VMID: step.VMID})
	switch {
	case err == nil:
	case HangingTask(err) == nil && errors.Is(err, errNoEffect):
		c.result, c.err = journal.Failed, fmt.Errorf("%s %d does not run after its restart: %w", step.Kind, step.VMID, err)
	default:
		return conclusion{err: err, dispatched: c.dispatched}
	}
	return c
}

// findBackup returns the volume of the backup that an order made: the one that names the order in its notes. The task does not have it, and the text of its log
// depends on the storage.
func (w *Worker) findBackup(ctx context.Context, step journal.OpenStep) (volume string, err error) {
	storage, key := step.Detail[detailStorage], step.Detail[detailOrder]
	backups, err := w.cluster.Backups(ctx, step.Node, storage, step.VMID)
	if err != nil {
		return "", fmt.Errorf("the backup was made, and its volume could not be looked up: %w", err)
	}
	i := slices.IndexFunc(backups, func(b cluster.Backup) bool { return order.IsNote(b.Notes, key) })
	if i < 0 {
		return "", fmt.Errorf("the backup was made, and none on storage %s names the order in its notes", storage)
	}
	return backups[i].Volume, nil
}

// restoreWithin is how long after the time of its task a rollback stays open for the marks of its guest.
const restoreWithin = time.Hour

// finishRollback gives the guest its ownership tag and its protection again, which the snapshot may not have. Until then the step stays open, so that nothing
// starts the guest and no plan takes it for another one.
func (w *Worker) finishRollback(ctx context.Context, step journal.OpenStep, c conclusion) conclusion {
	err := w.restoreMarks(ctx, step, c.task)
	switch {
	case err == nil:
		return c
	case time.Since(w.since(step.Step)) > w.taskTimes.Of(cluster.OpRollback)+restoreWithin:
		c.result, c.err = journal.Failed, err
		return c
	}
	return conclusion{err: err, dispatched: c.dispatched}
}

// restoreMarks sets what is missing. It may be repeated: it reads the guest first, and its call carries the digest of that reading.
func (w *Worker) restoreMarks(ctx context.Context, step journal.OpenStep, task string) error {
	basis := w.basis()
	owned, isOwned := w.journal.State().Owned[step.VMID]
	row := cluster.Row{Kind: guest.Kind(step.Kind), VMID: step.VMID, Node: step.Node, Status: guest.StatusStopped} // the run state does not matter
	seen, err := observe.ReadGuest(ctx, w.cluster, row, basis.Inventory.Version)
	switch {
	case errors.Is(err, cluster.ErrNotExist) || !isOwned:
		return nil // it is not there any more, or not the agent's
	case err != nil:
		return fmt.Errorf("read %s %d after its rollback: %w", step.Kind, step.VMID, err)
	}
	call := cluster.Call{Op: cluster.OpConfig, Kind: row.Kind, Node: row.Node, VMID: row.VMID, Digest: seen.Digest, Params: missingMarks(step, owned, seen)}
	switch {
	case len(call.Params) == 0:
		return nil
	case seen.Lock != "":
		return fmt.Errorf("restore the marks of %s %d: %w (%s)", step.Kind, step.VMID, cluster.ErrLocked, seen.Lock)
	}
	if err := w.refuseReplaced(ctx, step, task); err != nil {
		return err
	}
	upid, err := w.cluster.Do(ctx, call, func(ctx context.Context) error {
		switch {
		case basis.NoWrites != reason.WritesAllowed:
			return fmt.Errorf("%w: %s", cluster.ErrWritesStopped, basis.Why)
		case w.superseded(basis):
			return epoch.ErrSuperseded // the step stays open, and the call is made under the next basis
		}
		return w.confirmWriter(ctx, 0)
	})
	if err == nil && upid != "" {
		var ended cluster.Task
		if ended, err = w.wait(ctx, call, upid); err == nil && !ended.OK() {
			err = cluster.NewTaskError(ended)
		}
	}
	if err != nil {
		return fmt.Errorf("restore the ownership tag and the protection of %s %d after its rollback: %w", step.Kind, step.VMID, err)
	}
	return nil
}

// missingMarks returns the parameters that give the guest the ownership tag and the protection that it had before a rollback, nil if it has both.
func missingMarks(step journal.OpenStep, owned journal.Owned, seen guest.Observed) map[string]string {
	params := make(map[string]string)
	if !ownership.Compare(owned, seen).HasTag {
		tags := append(guest.Tags(seen.Keys["tags"].Text), owned.Tag)
		slices.Sort(tags)
		params["tags"] = strings.Join(tags, ";")
	}
	if step.Detail[detailProtected] == "1" && !seen.IsProtected() {
		params["protection"] = "1"
	}
	return params
}

// refuseReplaced returns an error if another guest may have got the vmid since the task of a rollback began. The digest of the call shows it afterwards.
func (w *Worker) refuseReplaced(ctx context.Context, step journal.OpenStep, task string) error {
	rollback, err := w.cluster.Wait(ctx, task)
	var later []cluster.Task
	if err == nil {
		later, err = w.cluster.Tasks(ctx, cluster.TaskQuery{Node: step.Node, VMID: step.VMID, Types: replacingTasks, Since: rollback.Start})
	}
	if err != nil {
		return fmt.Errorf("list the tasks of %s %d after its rollback: %w", step.Kind, step.VMID, err)
	}
	if len(later) > 0 {
		return fmt.Errorf("%w: %s since the rollback %s", errReplaced, later[0].Type, task)
	}
	return nil
}
