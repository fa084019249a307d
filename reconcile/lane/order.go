package lane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
)

// An order is executed at most once. The append that journals the intent of its step also takes the order out of the open ones, and the journal refuses
// that for an order in a final state. The outcome follows from the task of the call, or from the task list; without a task it is unknown, and an order
// whose outcome is unknown is never open again.

// refuseOrder journals that the guest does not allow an order.
func (w *Worker) refuseOrder(ctx context.Context, basis *Basis, step plan.Step) error {
	if step.Order.Scheduled != nil {
		return w.appendIfCurrent(ctx, basis, order.RefusedScheduled(order.SnapshotsOf(w.journal.State(), step.Guest.VMID), *step.Order, step.Refused))
	}
	refused := step.Order.As(journal.OrderRefused)
	refused.Why = step.Refused
	return w.appendIfCurrent(ctx, basis, refused)
}

// executeOrder runs the step of an order. Once the order is used up, the turn goes on, whatever its outcome was: the report shows it.
func (w *Worker) executeOrder(ctx context.Context, basis *Basis, step plan.Step, verdict gate.Verdict, t *turn) (again bool, err error) {
	if waited, err := w.outwaitRepeated(ctx, step.Guest.VMID, step.Op); waited || err != nil {
		return err == nil, err
	}
	calls, err := w.vault.Fill(step.Calls, nil, "")
	if err != nil {
		return false, fmt.Errorf("%s of %s: %w", step.Op, step.Guest, err)
	}
	if err := w.holdAgain(ctx, step); err != nil {
		return false, err
	}
	warnings, err := w.run(ctx, basis, step, verdict, calls, t)
	w.noteVolumes(step.Guest.VMID, err)
	t.Warnings = append(t.Warnings, warnings...)
	if err != nil && !w.isUsedUp(step) {
		return false, err // its call was not sent, or its step is open
	}
	t.Steps++
	t.last = step
	return true, nil
}

// beginOrder returns the records with which the step of an order begins: the order is not open any more, and an override of the guest's run state begins
// or ends. The override is in force before the call, so that no plan undoes its effect.
func (w *Worker) beginOrder(step plan.Step, begun journal.Begun, seen guest.Observed) []journal.Body {
	if step.Order == nil {
		return nil
	}
	noteForFinish(begun, step, seen)
	if step.Order.Scheduled != nil {
		return w.beginScheduled(step, begun)
	}
	released := step.Order.As(journal.OrderReleased)
	released.Step = begun.Step
	records := []journal.Body{released}
	vmid := step.Guest.VMID
	before := w.journal.State().Overridden[vmid]
	if text, err := json.Marshal(before); err == nil && before.Order != "" {
		begun.Detail[detailOverride] = string(text)
	}
	switch span := step.Order.Duration(order.KeyFor); {
	case span > 0:
		records = append(records, journal.Overridden{
			VMID: vmid, Order: step.Order.Key, State: string(step.Order.Reaches()), Until: time.Now().Add(span).UTC().Truncate(time.Second),
		})
	case step.Op.IsRunState() && before.Order != "":
		records = append(records, journal.Overridden{VMID: vmid}) // the guest has the run state of its manifest again
	}
	return records
}

// orderRecords returns the records that end the step of an order: what became of the order, and the end of an override that did not take effect.
func orderRecords(begun journal.Begun, c conclusion, state journal.State) []journal.Body {
	key := begun.Detail[detailOrder]
	switch {
	case key == "":
		return nil
	case begun.Detail[detailSnapshot] != "":
		return scheduledRecords(begun, c, state)
	}
	ended := state.Orders[key].As(orderState(c))
	ended.Key, ended.Step, ended.UPID, ended.Log, ended.Volume = key, begun.Step, c.task, c.log, c.backup
	switch {
	case c.err != nil && ended.State != journal.OrderRun:
		ended.Why = c.err.Error()
	case c.noBackup != nil:
		ended.Why = c.noBackup.Error()
	}
	if ended.State == journal.OrderSeen {
		ended.Step, ended.Why = "", ""
	}
	records := []journal.Body{ended}
	if c.result == journal.NotRun || c.result == journal.Failed {
		records = append(records, overrideBefore(begun, state)...)
	}
	return records
}

// overrideBefore returns the record that undoes what the beginning of an order without effect did to the override of its guest.
func overrideBefore(begun journal.Begun, state journal.State) []journal.Body {
	before := journal.Overridden{VMID: begun.VMID}
	if text := begun.Detail[detailOverride]; text != "" {
		if err := json.Unmarshal([]byte(text), &before); err != nil {
			before = journal.Overridden{VMID: begun.VMID}
		}
	}
	present, overridden := state.Overridden[begun.VMID]
	if overridden && present == before || !overridden && before.Order == "" {
		return nil
	}
	return []journal.Body{before}
}

// orderState returns what became of an order whose step has ended. It is open again only if its call certainly did not reach Proxmox, or if Proxmox refused
// it because the guest is locked or the cluster is not ready.
func orderState(c conclusion) journal.OrderState {
	switch c.result {
	case journal.Done:
		return journal.OrderRun
	case journal.Failed:
		return journal.OrderFailed
	case journal.NotRun:
		later := errors.Is(c.err, cluster.ErrLocked) || errors.Is(c.err, cluster.ErrNotReady)
		if c.sent && c.err != nil && !later {
			return journal.OrderFailed // Proxmox refused the call
		}
		return journal.OrderSeen
	case journal.Unknown:
	}
	return journal.OrderUnknown
}

// outcomeOf finds the outcome of an open step.
func (w *Worker) outcomeOf(ctx context.Context, open journal.OpenStep, about doubt) (conclusion, error) {
	if open.Detail[detailOrder] != "" {
		return settleOrder(ctx, w.boundedFor(open), open, about)
	}
	result, err := settle(ctx, w.boundedFor(open), open, w.journal.State().Owned[open.VMID], about)
	if err != nil {
		return conclusion{}, err
	}
	return settled(open, result, nil), nil
}

// settleOrder finds the outcome of an order from the task of its call. A call without a reply has a task if Proxmox carried it out: one that the guest did not
// have before the intent. The run state of the guest shows nothing, since it may be due to anybody. Without a task, and with several ones that ended
// differently, the outcome is unknown.
func settleOrder(ctx context.Context, reader cluster.Reader, open journal.OpenStep, d doubt) (conclusion, error) {
	tasks := []cluster.Task{{UPID: open.UPID}}
	if open.UPID == "" {
		listed, err := reader.Tasks(ctx, cluster.TaskQuery{Node: open.Node, VMID: open.TaskVMID, ID: open.TaskID, Types: open.TaskTypes, Since: tasksSince(open)})
		if err != nil {
			return conclusion{}, fmt.Errorf("list tasks for step %s: %w", open.Step, err)
		}
		tasks = slices.DeleteFunc(listed, func(t cluster.Task) bool { return !isOfStep(open, t) })
	}
	if len(tasks) == 0 && time.Now().Before(d.late) {
		return conclusion{}, fmt.Errorf("%s of %s %d: there is no task, and Proxmox may still execute the call; the guest gets no other step until %s: %w",
			open.Op, open.Kind, open.VMID, d.late.UTC().Format(time.TimeOnly+" UTC"), cluster.ErrUnanswered)
	}
	c := settled(open, journal.Unknown, nil)
	for i, listed := range tasks {
		task, err := reader.Wait(ctx, listed.UPID)
		result := taskResult(task)
		switch {
		case errors.Is(err, cluster.ErrNoTask) || err == nil && task.Lost():
			result = journal.Unknown
		case err != nil:
			return conclusion{}, fmt.Errorf("wait for task of step %s: %w", open.Step, err)
		}
		if i > 0 && result != c.result {
			return settled(open, journal.Unknown, nil), nil
		}
		c.result, c.task, c.log = result, listed.UPID, task.LogTail
		if result == journal.Failed {
			c.err = cluster.NewTaskError(task)
		}
	}
	return c, nil
}

// orderLog returns the last lines of the task that executed an order, "" for every other step. The outcome does not depend on them.
func (w *Worker) orderLog(ctx context.Context, begun journal.Begun, c conclusion) string {
	if begun.Detail[detailOrder] == "" || c.task == "" || c.log != "" {
		return clipped(c.log)
	}
	text, err := w.cluster.TaskLog(ctx, c.task)
	if err != nil {
		return ""
	}
	return clipped(text)
}

// maxLog bounds the lines of a task's log that the journal keeps, in bytes.
const maxLog = 2000

// clipped returns the end of a text, as valid UTF-8.
func clipped(text string) string { return strings.ToValidUTF8(text[max(len(text)-maxLog, 0):], "") }

// readSnapshots adds the snapshots of the guest to the reading of a turn if an open order needs them. While the configuration changes, the order waits.
func (w *Worker) readSnapshots(ctx context.Context, needed map[int]bool, got cluster.Snapshot, t *turn) error {
	if !needed[t.Key.VMID] || t.Absence != "" || t.Seen.Snapshots != nil {
		return nil
	}
	seen, err := observe.WithSnapshots(ctx, w.cluster, t.Seen)
	if errors.Is(err, cluster.ErrConflict) {
		return nil
	}
	t.Seen, got.Guests[t.Key.VMID] = seen, seen
	return err
}

// checkOrder returns why the guest as seen immediately before the call does not allow an order, nil if it does.
func checkOrder(step plan.Step, seen guest.Observed) error {
	if step.Order == nil {
		return nil
	}
	switch why := plan.OrderRefusal(step.Order.Request, seen); {
	case seen.Lock != "":
		return fmt.Errorf("%w (%s)", cluster.ErrLocked, seen.Lock)
	case why != "":
		return fmt.Errorf("%w: %s", cluster.ErrConflict, why)
	}
	if step.Order.Scheduled != nil {
		if waits, why := step.Order.Settled(*seen.Snapshots, journal.Snapshots{}); waits || why != "" {
			return fmt.Errorf("%w: the snapshots of the guest have changed", cluster.ErrConflict)
		}
	}
	if step.Snapshot == "" {
		return nil
	}
	if snapshot, restores := plan.SnapshotOf(step.Order.Request, seen); snapshot != step.Snapshot || !slices.Equal(restores, step.Restores) {
		return fmt.Errorf("%w: the snapshot or the configuration has changed since the order was judged", cluster.ErrConflict)
	}
	return nil
}
