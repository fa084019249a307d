package reconcile

import (
	"fmt"
	"strings"
)

// hasWarnings reports whether a task's exit status is the success "WARNINGS: n".
func hasWarnings(exit string) bool {
	count, ok := strings.CutPrefix(exit, "WARNINGS: ")
	return ok && count != "" && strings.Trim(count, "0123456789") == ""
}

// lost reports whether a task ended without anybody knowing how: its process was killed, or its node restarted. Only the guest can
// tell then what it did before.
func (t Task) lost() bool {
	return !t.Running && (t.Exit == "unexpected status" || strings.HasPrefix(t.Exit, "unable to get last line from task log"))
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

func newTaskError(task Task) *TaskError {
	return &TaskError{UPID: task.UPID, Exit: task.Exit, Log: task.LogTail, Err: task.Err}
}
