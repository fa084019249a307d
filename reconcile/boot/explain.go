package boot

import (
	"cmp"
	"maps"
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
	taskReboot   = "qmreboot" // it ends when the machine is down, and root's qmstart follows
	taskResume   = "qmresume"
	taskSuspend  = "qmsuspend" // to disk; a pause is a qmpause
	taskMigrate  = "qmigrate"
	taskRollback = "qmrollback"
	taskStop     = "qmstop"
	taskShutdown = "qmshutdown"
)

// Clocks of nodes and of the agent's host agree within skew. A task on one node begins within another one of the same cluster by up to nodeSkew.
const (
	skew     = 2 * time.Minute
	nodeSkew = 5 * time.Second
)

// Explain returns what has happened to a virtual machine since the process of its record, oldest first, from the tasks of the machine on every node of the cluster.
// The last one explains the process that runs now. Without a task near the start of that process the history is not known: the token may not see the tasks of others,
// or no task started it. A task nearer to the start of the process before, by the same clock, has started that one.
//
// If the tasks of a node are unread, because it is offline, only a start after a stop on the same node explains the process: any other one may belong to a migration
// from the node that is offline.
func Explain(tasks []cluster.Task, before journal.Process, live guest.Observed, unread bool) []Evidence {
	if live.Process == nil {
		return []Evidence{{}}
	}
	start := processOf(live).Start // in whole seconds, as the times of tasks
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(t cluster.Task) bool {
		failed := t.Outcome == cluster.TaskFailed && t.Type != taskMigrate // a migration that ended with problems may have moved the machine
		return failed || t.Running || t.Start.After(start.Add(skew))       // what happened after the reading changes nothing of it
	})
	happened := causesOf(tasks)
	if len(happened) == 0 {
		return []Evidence{{}}
	}
	last := happened[len(happened)-1]
	if !last.starts(start) || unread && !last.afterStop || !before.Start.IsZero() && distance(last.task, start) > distance(last.task, before.Start) {
		return []Evidence{{}}
	}
	began := before.Start.Add(ahead(last.task, start) + nodeSkew)
	happened = slices.DeleteFunc(happened, func(h happening) bool {
		return h.task.UPID != last.task.UPID && (before.Start.IsZero() || !h.task.Start.After(began) || distance(h.task, before.Start) == 0)
	})
	history := make([]Evidence, 0, len(happened))
	for _, h := range happened {
		history = append(history, Evidence{Cause: h.cause, At: h.task.End})
	}
	history[len(history)-1].At = start
	return history
}

// happening is a task that started or moved the process of a machine.
type happening struct {
	task  cluster.Task
	cause Cause
	inner bool // of a migration: the start of the process on the target is among the tasks

	afterStop bool // the machine was stopped on the same node before, or this is a reboot: no migration to this node is part of it
}

// starts reports whether the task may have started a process.
func (h happening) starts(process time.Time) bool {
	if h.cause == Moved && h.task.Type == taskMigrate && !h.inner && process.After(h.task.End.Add(nodeSkew)) {
		return false // a machine that does not run is moved without a process, and nothing shows who started it afterwards
	}
	return h.cause != Unexplained && distance(h.task, process) <= skew
}

// causesOf returns which tasks started or moved the process of a machine, oldest first. A suspension to disk without a later start is Unexplained.
func causesOf(tasks []cluster.Task) []happening {
	slices.Reverse(tasks) // within a second, lists have the newest first
	slices.SortStableFunc(tasks, func(a, b cluster.Task) int { return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End)) })
	inner := startsInMigrations(tasks)
	var found []happening
	var suspended *cluster.Task
	downOn := "" // the node on which a task stopped the machine
	for i, t := range tasks {
		afterStop := t.Type == taskReboot || t.Type == taskStart && downOn == t.Node
		switch t.Type {
		case taskStop, taskShutdown, taskReboot:
			downOn = t.Node
		case taskStart, taskResume, taskRollback, taskMigrate:
			downOn = ""
		}
		cause := Boot
		if suspended != nil {
			cause = Moved
		}
		switch t.Type {
		case taskStart:
			if slices.Contains(slices.Collect(maps.Values(inner)), i) {
				continue
			}
			suspended = nil
		case taskReboot:
			cause, suspended = Boot, nil
		case taskResume:
			if suspended == nil {
				continue // a pause has ended
			}
			suspended = nil
		case taskRollback:
			cause, suspended = RolledBack, nil
		case taskMigrate:
			cause = Moved // a suspended machine stays so
		case taskSuspend:
			suspended = &tasks[i]
			continue
		default:
			continue
		}
		_, hasInner := inner[i]
		found = append(found, happening{t, cause, hasInner, afterStop && cause == Boot})
	}
	if suspended != nil {
		found = append(found, happening{task: *suspended})
	}
	return found
}

// startsInMigrations returns, by the index of each migration, the index of the start that belongs to it: the first one in its time. A machine that a task stopped before is
// moved without a start. Tasks are sorted by their start.
func startsInMigrations(tasks []cluster.Task) map[int]int {
	inner := make(map[int]int)
	stopped := false
	for i, m := range tasks {
		switch m.Type {
		case taskStop, taskShutdown:
			stopped = true
		case taskStart, taskResume, taskReboot, taskRollback:
			stopped = false
		}
		if m.Type != taskMigrate || stopped {
			continue
		}
		at := slices.IndexFunc(tasks, func(t cluster.Task) bool {
			return t.Type == taskStart && t.Node != m.Node && !t.Start.Before(m.Start.Add(-nodeSkew)) && !t.Start.After(m.End.Add(nodeSkew))
		})
		if at >= 0 {
			inner[i] = at
		}
	}
	return inner
}

// distance returns how far a moment is from the time in which a task ran, 0 if it is within.
func distance(t cluster.Task, at time.Time) time.Duration { return ahead(t, at).Abs() }

// ahead returns by how much the time in which a task ran is after a moment, 0 if it contains the moment.
func ahead(t cluster.Task, at time.Time) time.Duration {
	switch {
	case t.Start.After(at):
		return t.Start.Sub(at)
	case at.After(t.End):
		return t.End.Sub(at)
	}
	return 0
}

// IsRolledBack reports whether a history contains a rollback with memory.
func IsRolledBack(history []Evidence) bool {
	return slices.ContainsFunc(history, func(h Evidence) bool { return h.Cause == RolledBack })
}

// WithSnapshots returns a history with the times of the snapshots to which the machine was rolled back. Parent is the name of the snapshot that its configuration names
// as the last one: that of the newest rollback, or one that was taken since. Of a snapshot that was deleted, the one before it counts.
func WithSnapshots(history []Evidence, snapshots guest.Snapshots, parent string) []Evidence {
	history = slices.Clone(history)
	left := len(snapshots.Sections) // a chain has no more links
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Cause != RolledBack {
			continue
		}
		for ; left > 0 && history[i].Snapshot.IsZero(); left-- {
			section, found := snapshots.Section(parent)
			if !found {
				break
			}
			if parent = section.Keys["parent"]; section.Taken().Before(history[i].At) {
				history[i].Snapshot = section.Taken()
			}
		}
	}
	return history
}
