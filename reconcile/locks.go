package reconcile

import (
	"context"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// A migration that ends because a node or the quorum is lost leaves its lock behind, and no task removes it. The engine looks for the task of such a lock on every node.

// lockEvery is the time between two looks at the tasks of a guest with the lock of a migration.
const lockEvery = 30 * time.Second

// lockLook is what the engine knows of the lock of a migration.
type lockLook struct {
	at     time.Time
	idle   time.Time // since when no node has had a task of the guest that runs; zero if that is not so
	silent []string  // nodes that did not answer
	hidden bool      // no node shows the migration that left the lock: without Sys.Audit the token sees its own tasks alone
	frozen bool      // the machine is paused on its node
}

// followLocks looks for the tasks that hold the locks of migrations, beside the engine, also while a lane follows the migration: what the lane waits for may have ended.
func (e *Engine) followLocks(ctx context.Context, now time.Time) {
	inventory, known := e.readings.observer.Snapshot().Inventory, make(map[int]lockLook)
	var due []cluster.Row
	for i := range e.guests {
		row, listed := inventory.Row(e.guests[i].VMID)
		if !listed || row.Lock != "migrate" {
			continue
		}
		last := e.locks[row.VMID]
		known[row.VMID] = last
		if now.Sub(last.at) >= lockEvery && len(due) < bootReads {
			due = append(due, row)
		}
	}
	e.locks = known
	if len(due) == 0 {
		return
	}
	e.errands.run(report.ComponentLocks, func() func() {
		found, reader := make(map[int]lockLook, len(due)), observe.TasksOfNodes(e.opts.Cluster, len(due))
		for _, row := range due {
			found[row.VMID] = lookAtLock(ctx, reader, row, inventory, now)
		}
		return func() {
			for vmid, now := range found {
				if before, still := e.locks[vmid]; still {
					if !now.idle.IsZero() && !before.idle.IsZero() {
						now.idle = before.idle
					}
					e.locks[vmid] = now
				}
			}
		}
	})
}

// lookAtLock asks every node for running tasks of a guest. A node that is offline in the list is not asked.
func lookAtLock(ctx context.Context, reader cluster.Reader, row cluster.Row, inventory cluster.Inventory, now time.Time) lockLook {
	look, runs, shown := lockLook{at: now, silent: slices.Clone(inventory.Offline)}, false, false
	for _, node := range inventory.Capacity.Nodes {
		if slices.Contains(inventory.Offline, node.Node) {
			continue
		}
		tasks, err := reader.Tasks(ctx, cluster.TaskQuery{Node: node.Node, VMID: row.VMID})
		if err != nil {
			look.silent = append(look.silent, node.Node)
		}
		for _, t := range tasks {
			runs = runs || t.Running
			shown = shown || strings.HasSuffix(t.Type, "migrate") && !t.Running && !t.OK()
		}
	}
	look.hidden = !runs && !shown && len(look.silent) == 0
	if !runs && shown && len(look.silent) == 0 {
		look.idle = now
		status, _, err := reader.Status(ctx, row)
		look.frozen = err == nil && row.Kind == guest.VirtualMachine && status == guest.StatusPaused
	}
	return look
}

// isLeft reports whether the lock of a guest is known to be all that is left of a migration. Listed is when the guest was still locked.
func (l lockLook) isLeft(listed time.Time) bool {
	return len(l.silent) == 0 && !l.idle.IsZero() && listed.After(l.idle)
}

// explainLock adds to the condition of a guest with the lock of a migration what is known of the task that holds it. That there is none counts only if the guest is
// still locked afterwards.
func (e *Engine) explainLock(p plan.Guest, conditions []plan.Condition, listed time.Time) {
	look, known := e.locks[p.Ref.VMID]
	i := slices.IndexFunc(conditions, func(c plan.Condition) bool { return c.Reason == reason.Locked })
	switch {
	case !known || i < 0:
	case len(look.silent) > 0:
		conditions[i].Message += "; it is unknown whether a task holds it, since " + strings.Join(look.silent, ", ") + " did not answer"
	case look.hidden && listed.After(look.at):
		conditions[i].Message += "; it is unknown whether a task holds it, since no node shows the token a migration of it: it needs Sys.Audit on /nodes"
	case look.isLeft(listed):
		conditions[i].Message += ", and no task on any node holds it: a migration ended without its end"
		if look.frozen {
			conditions[i].Message += "; its memory was moved and its configuration was not, so the machine is frozen and no copy of it runs"
		}
		conditions[i].Hint = reason.UnlockMoved.With(p.Ref.Kind.Tool(), p.Ref.VMID)
	}
}
