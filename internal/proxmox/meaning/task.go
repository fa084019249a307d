package meaning

import (
	"errors"
	"regexp"
	"strings"
	"sync"

	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Task returns a running task with the facts of its UPID.
func (u UPID) Task(name string) cluster.Task {
	return cluster.Task{UPID: name, Node: u.Node, Type: u.Kind, VMID: u.vmid(), User: u.User, Start: u.Start, Running: true}
}

// Ended returns an ended task with the facts of its UPID and of its exit status.
func (u UPID) Ended(name, exit string) cluster.Task {
	task := u.Task(name)
	task.Running, task.Exit = false, reply.OneLine(exit)
	task.Outcome = outcomeOf(task.Exit)
	task.Err = taskError(u, task.Outcome, task.Exit)
	return task
}

// outcomeOf returns the outcome that the exit status of an ended task states.
//
// Source: pve-common, PVE/UPID.pm and PVE/Tools.pm upid_read_status.
func outcomeOf(exit string) cluster.TaskOutcome {
	switch {
	case exit == "OK":
		return cluster.TaskSucceeded
	case warningsPattern().MatchString(exit):
		return cluster.TaskWarned
	case exit == "unexpected status", strings.HasPrefix(exit, "unable to get last line from task log"):
		return cluster.TaskLost
	default:
		return cluster.TaskFailed
	}
}

// warningsPattern matches the exit status of a task that succeeded with warnings.
var warningsPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^WARNINGS: [0-9]+$`) })

// taskError returns the error of a Cluster that a task's end means, nil if it means none. The end of a worker that died or was
// stopped does not state what the worker had done before.
func taskError(task UPID, outcome cluster.TaskOutcome, exit string) error {
	switch {
	case outcome == cluster.TaskSucceeded, outcome == cluster.TaskWarned:
		return nil
	case outcome == cluster.TaskLost, exit == "received interrupt":
		return cluster.ErrOutcomeUnknown
	}
	meaning := writeMeaning(task.about(), exit)
	if errors.Is(meaning, cluster.ErrDenied) {
		return deniedError(exit)
	}
	return meaning
}

// about returns the guest that a missing configuration in the task's exit status is about. It is the zero address for a create or a clone:
// the new guest does not exist before, and a clone is filed under its template.
func (u UPID) about() route.Address {
	switch u.Kind {
	case "qmconfig", "qmstart", "qmstop", "qmshutdown", "qmreboot", "qmreset", "qmpause", "qmresume", "qmdestroy", "qmigrate", "qmtemplate", "qmmove", "qmsnapshot", "qmdelsnapshot", "qmrollback":
		return route.Address{Kind: guest.VirtualMachine, Node: u.Node, VMID: u.vmid()}
	case "vzstart", "vzstop", "vzshutdown", "vzreboot", "vzdestroy", "vzmigrate", "vztemplate", "move_volume", "vzsnapshot", "vzdelsnapshot", "vzrollback":
		return route.Address{Kind: guest.Container, Node: u.Node, VMID: u.vmid()}
	default:
		return route.Address{}
	}
}
