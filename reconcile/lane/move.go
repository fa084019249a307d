package lane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/queue"
)

// The HA manager moves a guest some time after the task that asks for it, and it may drop the request. It says so in its own log alone. So a lane
// looks at the guest, and at the rounds of the manager: a request is read in the round after it, and from then on the guest has the state of a move.

const actsWithin = 2 // rounds of the manager: the first one may have begun before the request

var (
	// errNotMoved reports that the HA manager did not move a guest, and does not do so any more.
	errNotMoved = errors.New("the HA manager has not moved the guest")
	// errMoveUnknown reports that it is not known whether the HA manager still moves a guest.
	errMoveUnknown = errors.New("it is unknown whether the HA manager will move the guest")
)

// move is what a lane has seen of a move that it asked the HA manager for.
type move struct {
	call  cluster.Call // a migration
	upid  string       // of the task that handed over the request
	asked time.Time    // when the lane began to look at the latest
	quiet time.Time    // since when there is no sign of the move
	began bool         // it was seen on its way
	there bool         // it was seen on the target, where the manager had not ended the move

	round  time.Time // the newest one of the manager
	rounds int       // since there is no sign of the move
	seenAt time.Time // when round was first seen, the zero time before
}

// waitForMove waits until the HA manager has moved a guest, as long as a migration may take while it is on its way. It returns errNotMoved if the
// manager has dropped the request or has failed, and errMoveUnknown if neither that nor the move is to be seen.
func (w *Worker) waitForMove(ctx context.Context, call cluster.Call, upid string, asked time.Time) error {
	m := &move{call: call, upid: upid, asked: asked, quiet: asked}
	defer w.waits.Delete(upid)
	for {
		if arrived, err := w.follow(ctx, m); arrived || err != nil {
			return err
		}
		queue.WithoutSlot(ctx, func() {
			select {
			case <-ctx.Done():
			case <-time.After(effectPoll):
			}
		})
		if ctx.Err() != nil {
			return fmt.Errorf("wait for the effect: %w", ctx.Err())
		}
	}
}

// movesSeen is what lanes see of all moves. A reading that failed shows nothing.
type movesSeen struct {
	master            cluster.HAMaster
	guests            cluster.Inventory
	noMaster, noGuest error
}

// lookForMoves returns a function that reads the list of guests after the round of the manager, so that the list shows what the manager did in the round.
func lookForMoves(reader cluster.Reader) func(context.Context) (movesSeen, error) {
	return func(ctx context.Context) (movesSeen, error) {
		var seen movesSeen
		seen.master, seen.noMaster = reader.HAMaster(ctx)
		seen.guests, seen.noGuest = reader.Inventory(ctx)
		return seen, ctx.Err() // the end of one lane is no failure for the others
	}
}

// follow looks at a move once. Lanes that follow moves at the same time share their looks, so that many moves cost no more calls than one.
func (w *Worker) follow(ctx context.Context, m *move) (arrived bool, err error) {
	since := time.Now().Add(-effectPoll)
	if m.asked.After(since) {
		since = m.asked
	}
	look, err := w.moves.Since(ctx, since)
	if err != nil {
		return false, nil //nolint:nilerr // the lane ends, and its caller says so
	}
	master, noMaster := look.master, look.noMaster
	row, listed := look.guests.Row(m.call.VMID)
	now := time.Now()
	seen := look.noGuest == nil && listed
	switch {
	case seen && row.Node == m.call.Params["target"] && row.Lock == "" && !row.HAMoves():
		return true, nil
	case seen && row.HAMoves():
		return false, w.followOnItsWay(ctx, m, row, master, noMaster == nil, now)
	case seen && noMaster == nil && row.Lock == "" && (row.HAState == "started" || row.HAState == "stopped"):
		m.count(master, now)
		if m.rounds >= actsWithin {
			return false, w.notMoved(ctx, m, row, master)
		}
	}
	trouble := errors.Join(noMaster, look.noGuest)
	why := m.waitsFor(master, trouble, now)
	w.waits.Store(m.upid, why)
	if now.Sub(m.quiet) >= haTimeout {
		return false, errors.Join(fmt.Errorf("%w: nothing happened within %s, and its request may still be in the queue (%s)", errMoveUnknown, haTimeout, why), trouble)
	}
	return false, nil
}

// count notes the newest round of the manager.
func (m *move) count(master cluster.HAMaster, now time.Time) {
	switch {
	case m.seenAt.IsZero():
	case master.RoundAt.After(m.round):
		m.rounds++
	default:
		return
	}
	m.round, m.seenAt = master.RoundAt, now
}

// waitsFor says what a lane waits for, for people.
func (m *move) waitsFor(master cluster.HAMaster, trouble error, now time.Time) string {
	if trouble != nil {
		return "it is unknown whether the HA manager works on the request: its state or the list of guests cannot be read"
	}
	return cmp.Or(master.Stands(m.seenAt, now), "the HA manager has the request to move the guest, and acts in its next round")
}

// followOnItsWay returns an error if a move takes longer than a migration may, or if its lock is all that is left of it.
func (w *Worker) followOnItsWay(ctx context.Context, m *move, row cluster.Row, master cluster.HAMaster, masterRead bool, now time.Time) error {
	locked := !row.HASaysItMoves()
	if !locked || !m.began {
		m.rounds, m.seenAt = 0, time.Time{}
		if masterRead {
			m.round, m.seenAt = master.RoundAt, now
		}
	}
	m.began, m.quiet = true, now
	m.there = m.there || row.Node == m.call.Params["target"] && row.Lock == ""
	w.waits.Store(m.upid, "the HA manager moves the guest")
	if locked && masterRead {
		m.count(master, now)
	}
	limit := w.taskTimes.Of(cluster.OpMigrate)
	overdue := now.Sub(m.asked) >= limit
	if !overdue && m.rounds < actsWithin {
		return nil
	}
	task, unknown := w.moveTask(ctx, m, row)
	known := unknown == nil
	switch {
	case known && task.Running && overdue:
		return &HangingTaskError{Op: cluster.OpMigrate, UPID: task.UPID, Limit: limit}
	case known && task.Running:
		m.rounds = 0
	case overdue && !known:
		return fmt.Errorf("%w: it has moved it for more than %s, and the tasks cannot be read, so one may still move it: %w", errMoveUnknown, limit, unknown)
	case overdue:
		return fmt.Errorf("%w: it has moved it for more than %s, and no task does that", errMoveUnknown, limit)
	case known && row.Lock != "":
		return fmt.Errorf("%w: the guest is locked (%s), and no task of it runs", errMoveUnknown, row.Lock)
	}
	return nil
}

// notMoved returns why a guest is not on the target although the manager has had its rounds.
func (w *Worker) notMoved(ctx context.Context, m *move, row cluster.Row, master cluster.HAMaster) error {
	node := cmp.Or(master.Node, "the node of its master")
	if m.began {
		switch task, unknown := w.moveTask(ctx, m, row); {
		case unknown == nil && task.Outcome == cluster.TaskFailed:
			return fmt.Errorf("%w: %w", errNotMoved, cluster.NewTaskError(task))
		case unknown == nil && task.Running:
			m.rounds = 0
			return nil
		case m.there || unknown == nil && task.OK():
			return fmt.Errorf("%w for good: it was on %s, and is on %s now%s", errNotMoved, m.call.Params["target"], row.Node, w.rulesOn(ctx, m.call))
		case unknown != nil:
			return fmt.Errorf("%w: it began to move it, and its task is unknown: %w", errMoveUnknown, unknown)
		}
		return fmt.Errorf("%w: it began to move it, and ended that; its log is in the journal of pve-ha-crm on %s", errMoveUnknown, node)
	}
	return fmt.Errorf("%w: it has dropped the request, as it does without a word if the guest counts as there already, or if the target is offline or in maintenance; its log is in the journal of pve-ha-crm on %s",
		errNotMoved, node)
}

// rulesOn says which rules that Proxmox has now are about the guest of a call, or what else may be the cause.
func (w *Worker) rulesOn(ctx context.Context, call cluster.Call) string {
	live := observe.ReadObjects(ctx, w.cluster, map[guest.Kind][]string{kinds.AffinityRules: {}})[kinds.AffinityRules]
	var labels []string
	for _, r := range kinds.LiveRules(w.basis().Objects, live.ByID) {
		if slices.Contains(r.Guests, guest.Ref{Kind: call.Kind, VMID: call.VMID}.HAName()) {
			labels = append(labels, r.Label)
		}
	}
	if len(labels) == 0 {
		return "; another request moved it, or a node that left maintenance got it back"
	}
	return "; " + strings.Join(labels, ", ") + " decides where it runs"
}

// moveTask returns the newest task that has moved the guest since the request, on the node that the guest was asked to leave and on its present node. It is the zero
// Task if the lists show none. A list that cannot be read is an error.
func (w *Worker) moveTask(ctx context.Context, m *move, row cluster.Row) (task cluster.Task, err error) {
	request, err := w.cluster.Wait(ctx, m.upid)
	if err != nil {
		return cluster.Task{}, fmt.Errorf("read the task of the request: %w", err)
	}
	types := []string{"qmigrate"}
	if m.call.Kind == guest.Container {
		types = []string{"vzmigrate"}
	}
	nodes := []string{m.call.Node, row.Node}
	slices.Sort(nodes)
	for _, node := range slices.Compact(nodes) {
		tasks, err := w.cluster.Tasks(ctx, cluster.TaskQuery{Node: node, VMID: m.call.VMID, Types: types, Since: request.Start})
		if err != nil {
			return cluster.Task{}, fmt.Errorf("list the tasks of %s: %w", node, err)
		}
		for _, t := range tasks {
			if task.UPID == "" || t.Running || !task.Running && t.Start.After(task.Start) {
				task = t
			}
		}
	}
	if task.UPID != "" && !task.Running {
		if ended, err := w.cluster.Wait(ctx, task.UPID); err == nil {
			task = ended
		}
	}
	return task, nil
}

// Waiting returns what a lane waits for after the task of a call has ended, "" if it does not wait, or only for what comes for certain.
func (w *Worker) Waiting(upid string) string {
	text, waits := w.waits.Load(upid)
	if !waits {
		return ""
	}
	return text.(string) //nolint:forcetypeassert // follow stores nothing else
}

// awaitSettledMove waits for the move of a step that an earlier process began, or whose reply was lost: the end of its task says only that the HA manager
// has the request.
func (w *Worker) awaitSettledMove(ctx context.Context, step journal.OpenStep, c conclusion) conclusion {
	upid := c.task
	if upid == "" {
		tasks, err := w.cluster.Tasks(ctx, cluster.TaskQuery{Node: step.Node, VMID: step.TaskVMID, Types: step.TaskTypes, Since: tasksSince(step)})
		if err != nil {
			return conclusion{err: fmt.Errorf("list tasks for step %s: %w", step.Step, err), dispatched: c.dispatched}
		}
		for _, t := range tasks {
			if cluster.HARequest(t.UPID) && isOfStep(step, t) && t.OK() {
				upid = t.UPID
			}
		}
	}
	if !cluster.HARequest(upid) {
		return c
	}
	call := cluster.Call{Op: cluster.OpMigrate, Kind: guest.Kind(step.Kind), Node: step.Node, VMID: step.VMID, Params: map[string]string{"target": step.Detail[detailTarget]}}
	switch err := w.waitForMove(ctx, call, upid, w.since(step.Step)); {
	case errors.Is(err, errNotMoved):
		c.result, c.err = journal.Failed, err
	case errors.Is(err, errMoveUnknown):
		c.result, c.err = journal.Unknown, err
	case err != nil:
		return conclusion{err: err, dispatched: c.dispatched}
	}
	return c
}
