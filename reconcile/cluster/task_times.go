package cluster

import (
	"cmp"
	"time"
)

// taskKind is what decides how long the task of an operation takes.
type taskKind int

const (
	quick     taskKind = iota // it takes seconds, or minutes on a busy node
	allocates                 // it allocates, frees or converts volumes
	copies                    // it copies whole volumes
)

// TaskTimes is how long tasks may run before the agent stops waiting for them. The agent never aborts a task. A zero field is the default.
type TaskTimes struct {
	Copies    time.Duration // creates with clones, imports and restores, migrations, moves of disks, backups, deletions of snapshots, downloads; 0 is 12 h
	Allocates time.Duration // resizes, templates, snapshots, rollbacks, destroys, deletions of files; 0 is 1 h
	Others    time.Duration // changes of the configuration and of the run state; 0 is 15 min
}

// Of returns how long a task of an operation may run.
func (t TaskTimes) Of(op Op) time.Duration {
	switch op.row().taskKind {
	case copies:
		return cmp.Or(t.Copies, 12*time.Hour)
	case allocates:
		return cmp.Or(t.Allocates, time.Hour)
	case quick:
	}
	return cmp.Or(t.Others, 15*time.Minute)
}
