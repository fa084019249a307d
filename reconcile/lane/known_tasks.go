package lane

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
)

// The outcome of a restart, a migration, a conversion to a template and every order follows from the task list: a call that was carried out has a task. Agent, node
// and other nodes have clocks of their own, and each of them may step. So the intent of such a step names the tasks that the guest already had, and a
// task belongs to the step if it is not one of these.

// maxKnownTasks bounds the tasks that an intent names.
const maxKnownTasks = 20

// noteTasks adds the tasks that the guest already has to the intent of a step whose outcome follows from the task list. It costs one request for each
// type of task.
func (w *Worker) noteTasks(ctx context.Context, begun journal.Begun) error {
	if !cluster.Op(begun.Op).LeavesTask() && begun.Detail[detailOrder] == "" {
		return nil
	}
	tasks, err := w.cluster.Tasks(ctx, cluster.TaskQuery{Node: begun.Node, VMID: begun.TaskVMID, ID: begun.TaskID, Types: begun.TaskTypes})
	if err != nil {
		return fmt.Errorf("list the tasks of the guest before the call: %w", err)
	}
	var known []string
	for _, t := range tasks[:min(len(tasks), maxKnownTasks)] {
		known = append(known, processOf(t.UPID))
	}
	begun.Detail[detailTasks] = strings.Join(known, " ")
	return nil
}

// tasksSince returns the time from which on the tasks of a step are listed: all of them if its intent names those from before.
func tasksSince(open journal.OpenStep) time.Time {
	if _, named := open.Detail[detailTasks]; named {
		return time.Time{}
	}
	return open.Time.Add(-clockSkew)
}

// isOfStep reports whether a task began with the step and not before it. The intent of another operation, and that of an older release, names no tasks:
// then the times decide.
func isOfStep(open journal.OpenStep, t cluster.Task) bool {
	text, named := open.Detail[detailTasks]
	if !named {
		return !t.Start.Before(open.Time.Add(-taskLag))
	}
	known := strings.Fields(text)
	if slices.Contains(known, processOf(t.UPID)) {
		return false
	}
	return len(known) < maxKnownTasks || t.Start.Unix() >= startOf(known[len(known)-1]) // older ones are not named
}

// processOf returns the part of a UPID that identifies the process: pid, its start since the boot of the node, and its time, all in hex. It returns any
// other text unchanged.
func processOf(upid string) string {
	if parts := strings.Split(upid, ":"); len(parts) > 5 && parts[0] == "UPID" {
		return strings.Join(parts[2:5], ":")
	}
	return upid
}

// startOf returns the time within the result of processOf, in seconds since 1970.
func startOf(process string) int64 {
	at, _ := strconv.ParseInt(process[strings.LastIndexByte(process, ':')+1:], 16, 64)
	return at
}
