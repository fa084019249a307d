package cluster

import (
	"fmt"
	"strings"
	"time"
)

// Task is a Proxmox task.
type Task struct {
	UPID    string
	Node    string
	Type    string // qmcreate, qmclone, qmconfig, …
	VMID    int    // of a clone: the vmid of its template
	User    string // token user, "root@pam!agent"
	Start   time.Time
	End     time.Time // zero while it runs, and if it was not read from a list
	Running bool

	Outcome  TaskOutcome // TaskPending while running
	Exit     string      // Proxmox's text for the outcome: "OK", "WARNINGS: 2", or the error; empty while running
	Err      error       // of a failed or lost task: the error of a Cluster that Exit stands for, as from a call; nil if Exit stands for none
	LogTail  string      // the last lines of a failed task's log; only Wait reads them
	Warnings []string    // the warnings in the log of a task that ended with warnings; only Wait reads them
}

// TaskOutcome states how a task ended.
type TaskOutcome string

// The outcomes of a task. The zero value is TaskPending.
const (
	TaskPending   TaskOutcome = ""          // the task has not ended
	TaskSucceeded TaskOutcome = "succeeded" // without warnings
	TaskWarned    TaskOutcome = "warned"    // a success, with warnings in the log
	TaskFailed    TaskOutcome = "failed"
	TaskLost      TaskOutcome = "lost" // the process was killed, or the node restarted: only the guest shows what the task did before
)

// OK reports whether the task succeeded. A task that ended with warnings succeeded.
func (t Task) OK() bool { return t.Outcome == TaskSucceeded || t.Outcome == TaskWarned }

// Lost reports whether the process of the task died without an outcome.
func (t Task) Lost() bool { return t.Outcome == TaskLost }

// TaskError is the error of a call that Proxmox accepted and whose task failed.
type TaskError struct {
	UPID string
	Exit string // the task's exit status, Proxmox's own text
	Log  string // the last lines of its log
	Err  error  // the error of a Cluster that the exit status stands for; nil if it stands for none
}

// NewTaskError returns the error of a task that failed or was lost.
func NewTaskError(task Task) *TaskError {
	return &TaskError{UPID: task.UPID, Exit: task.Exit, Log: task.LogTail, Err: task.Err}
}

func (e *TaskError) Error() string {
	if e.Log == "" {
		return fmt.Sprintf("task %s: %s", e.UPID, e.Exit)
	}
	return fmt.Sprintf("task %s: %s\n%s", e.UPID, e.Exit, e.Log)
}

// Unwrap returns the error of a Cluster that the exit status stands for.
func (e *TaskError) Unwrap() error { return e.Err }

// TaskQuery selects tasks. Times are in whole seconds on Proxmox's clock.
type TaskQuery struct {
	Node  string
	VMID  int
	ID    string    // of tasks about objects that are no guests, such as the name of a file that is downloaded; all if empty
	Types []string  // all types if empty
	Since time.Time // all times if zero
}

// MaxTasks is how many tasks one list of a node has at most. A list with fewer is complete.
const MaxTasks = 2000

// TaskNode returns the node within a UPID, "pve1"; "" if the text is not a UPID.
func TaskNode(upid string) string {
	if parts := strings.Split(upid, ":"); len(parts) > 5 && parts[0] == "UPID" {
		return parts[1]
	}
	return ""
}

// TaskType returns the worker type within a UPID, "qmstart"; "" if the text is not a UPID.
func TaskType(upid string) string {
	if parts := strings.Split(upid, ":"); len(parts) > 5 && parts[0] == "UPID" {
		return parts[5]
	}
	return ""
}
