package cluster

import (
	"fmt"
	"strings"
	"time"
) // hasWarnings reports whether a task's exit status is the success "WARNINGS: n".
func hasWarnings(exit string) bool {
	count, ok := strings.CutPrefix(exit, "WARNINGS: ")
	return ok && count != "" && strings.Trim(count, "0123456789") == ""
}

// TaskError is a call that Proxmox took and whose task failed.
type TaskError struct {
	UPID string
	Exit string // the task's exit status, Proxmox's own text
	Log  string // the last lines of its log
	Err  error  // the error of a Cluster that the exit status stands for; nil where it speaks for itself
}

func (e *TaskError) Error() string {
	if e.Log == "" {
		return fmt.Sprintf("task %s: %s", e.UPID, e.Exit)
	}
	return fmt.Sprintf("task %s: %s\n%s", e.UPID, e.Exit, e.Log)
}

// Unwrap returns what the exit status stands for.
func (e *TaskError) Unwrap() error { return e.Err }

func NewTaskError(task Task) *TaskError {
	return &TaskError{UPID: task.UPID, Exit: task.Exit, Log: task.LogTail, Err: task.Err}
}

// Task is a Proxmox task.
type Task struct {
	UPID    string
	Node    string
	Type    string // qmcreate, qmclone, qmconfig, …
	VMID    int    // a clone is filed under its template's
	User    string // token user, "root@pam!agent"
	Start   time.Time
	Running bool
	Exit    string // "OK", "WARNINGS: 2", or the error; empty while running

	Err      error    // of a failed task: the error above that Exit stands for, as from a call; nil where Exit speaks for itself
	LogTail  string   // the last lines of a failed task's log; Wait alone reads it
	Warnings []string // what a task that ended with warnings said; Wait alone reads them
}

// OK reports whether the task ended well. Warnings are a success.
func (t Task) OK() bool { return !t.Running && (t.Exit == "OK" || hasWarnings(t.Exit)) }

// TaskQuery bounds a list of tasks. Times are in whole seconds on Proxmox's clock.
type TaskQuery struct {
	Node  string
	VMID  int
	Types []string  // empty is every type
	Since time.Time // zero is unbounded
}

// TaskType returns the worker type within a UPID, "qmstart"; "" where there is none.
func TaskType(upid string) string {
	if parts := strings.Split(upid, ":"); len(parts) > 5 && parts[0] == "UPID" {
		return parts[5]
	}
	return ""
}

// Lost reports whether a task ended without anybody knowing how: its process was killed, or its node restarted. Only the guest can
// tell then what it did before.
func (t Task) Lost() bool {
	return !t.Running && (t.Exit == "unexpected status" || strings.HasPrefix(t.Exit, "unable to get last line from task log"))
}
