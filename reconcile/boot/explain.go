package boot

import (
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// Types of tasks that start the process of a virtual machine, or save its memory.
//
// Source: qemu-server, PVE::API2::Qemu. A start of a VM that was suspended to disk is a qmstart or a qmresume, and so is the start of the process that takes a machine
// over in a migration: a qmstart on the target.
const (
	taskStart    = "qmstart"
	taskResume   = "qmresume"
	taskSuspend  = "qmsuspend" // to disk; a pause is a qmpause
	taskMigrate  = "qmigrate"
	taskRollback = "qmrollback"
)

// Clocks of nodes and of the agent's host agree within skew. A task on one node begins within another one of the same cluster by up to nodeSkew.
const (
	skew     = 2 * time.Minute
	nodeSkew = 5 * time.Second
)

// Explain returns why the process of a virtual machine runs, from the tasks of the machine on every node of the cluster. Without a task near the start of the
// process nothing is known: the token may not see the tasks of others, or no task started it. A task nearer to the start of the process before, by the same clock, has
// started that one.
func Explain(tasks []cluster.Task, before journal.Process, live guest.Observed) Cause {
	if live.Process == nil {
		return Unexplained
	}
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(t cluster.Task) bool {
		return t.Running || t.Outcome == cluster.TaskFailed && t.Type != taskMigrate // a migration that ended with problems may have moved the machine
	})
	slices.SortStableFunc(tasks, func(a, b cluster.Task) int { return b.Start.Compare(a.Start) })
	start := processOf(live).Start // in whole seconds, as the times of tasks
	for i, t := range tasks {
		near := distance(t, start) <= skew && (before.Start.IsZero() || distance(t, start) <= distance(t, before.Start))
		switch t.Type {
		case taskStart:
			switch {
			case !near:
				return Unexplained
			case isWithinMigration(tasks, t), followsSuspension(tasks[i+1:]):
				return Moved
			}
			return Boot
		case taskResume:
			if followsSuspension(tasks[i+1:]) {
				return explained(Moved, near)
			} // else a pause has ended
		case taskMigrate:
			return explained(Moved, near)
		case taskRollback:
			return explained(RolledBack, near)
		case taskSuspend:
			return Unexplained
		}
	}
	return Unexplained
}

// distance returns how far a moment is from the time in which a task ran, 0 if it is within.
func distance(t cluster.Task, at time.Time) time.Duration {
	return max(t.Start.Sub(at), at.Sub(t.End), 0)
}

func explained(c Cause, near bool) Cause {
	if near {
		return c
	}
	return Unexplained
}

// isWithinMigration reports whether a start belongs to a migration.
func isWithinMigration(tasks []cluster.Task, start cluster.Task) bool {
	return slices.ContainsFunc(tasks, func(t cluster.Task) bool {
		return t.Type == taskMigrate && !start.Start.Before(t.Start.Add(-nodeSkew)) && !start.Start.After(t.End.Add(nodeSkew))
	})
}

// followsSuspension reports whether the newest of the earlier tasks that started or suspended the machine suspended it.
func followsSuspension(earlier []cluster.Task) bool {
	for _, t := range earlier {
		switch t.Type {
		case taskStart, taskMigrate, taskRollback:
			return false
		case taskSuspend:
			return true
		}
	}
	return false
}
