package meaning

import (
	"errors"
	"regexp"
	"strings"
	"sync"

	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Task returns a running task with the facts of its UPID.
func (u UPID) Task(name string) cluster.Task {
	return cluster.Task{UPID: name, Node: u.Node, Type: u.Kind, VMID: u.vmid(), User: u.User, Start: u.Start, Running: true}
}

// Ended returns an ended task with the facts of its UPID and of its exit status. Public is what its texts may repeat, of a task that may have had a secret.
func (u UPID) Ended(name, exit string, public wire.Public) cluster.Task {
	task := u.Task(name)
	exit = reply.OneLine(exit)
	task.Running, task.Exit, task.Outcome = false, withheldOf(u, name, public.Shows(exit)), outcomeOf(exit)
	task.Err = taskError(u, task.Outcome, exit, public.Shows(exit))
	return task
}

// Public returns what the texts of a task may repeat if its call had a secret, nil if no call that starts such a task has one.
func (u UPID) Public() wire.Public {
	switch u.Kind {
	case "qmconfig", "qmcreate", "qmrestore", "vzcreate", "vzrestore":
		return wire.Public{u.Node, u.ID}
	}
	return nil
}

// withheldOf says where a text is that is withheld.
func withheldOf(u UPID, name, text string) string {
	if text == wire.Withheld {
		text += ": see task " + name + " on node " + u.Node
	}
	return text
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
// stopped does not state what the worker had done before. Shown is what may be shown of the exit status.
func taskError(task UPID, outcome cluster.TaskOutcome, exit, shown string) error {
	switch {
	case outcome == cluster.TaskSucceeded, outcome == cluster.TaskWarned:
		return nil
	case outcome == cluster.TaskLost, exit == "received interrupt":
		return cluster.ErrOutcomeUnknown
	}
	meaning := writeMeaning(task.about(), exit)
	if errors.Is(meaning, cluster.ErrDenied) {
		return deniedError(shown)
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
