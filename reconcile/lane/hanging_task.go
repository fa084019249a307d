package lane

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/queue"
)

// HangingTaskError reports a task that still runs after the time that its operation may take. The lane stops waiting, so that other guests get
// its place. The step stays open, and nothing else is done for its guest until the task ends. The agent never aborts a task.
type HangingTaskError struct {
	Op    cluster.Op
	UPID  string
	Limit time.Duration
}

func (e *HangingTaskError) Error() string {
	return fmt.Sprintf("the task of %s has run on %s for more than %s: %s", e.Op, e.Node(), e.Limit, e.UPID)
}

// HangingTask returns the hanging task that an error reports, nil if it reports none.
func HangingTask(err error) *HangingTaskError {
	var hanging *HangingTaskError
	errors.As(err, &hanging)
	return hanging
}

// Node returns the node on which the task runs.
func (e *HangingTaskError) Node() string { return cluster.TaskNode(e.UPID) }

// hangingTasks are the tasks that the lanes no longer wait for. It is safe for concurrent use.
type hangingTasks struct {
	mu     sync.Mutex
	tasks  map[object.Key]*HangingTaskError
	looked map[object.Key]bool // objects with a turn that has ended
}

// note takes the error of a turn.
func (h *hangingTasks) note(key object.Key, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.looked[key] = true
	delete(h.tasks, key)
	if hanging := HangingTask(err); hanging != nil {
		h.tasks[key] = hanging
	}
}

// HangingTasks returns the number of hanging tasks by node, nil if there are none. After a start of the agent, the task of an open step counts if
// its time is over, until a lane has looked at it.
func (w *Worker) HangingTasks(state journal.State, now time.Time) map[string]int {
	w.hanging.mu.Lock()
	defer w.hanging.mu.Unlock()
	var count map[string]int
	add := func(upid string) {
		if count == nil {
			count = make(map[string]int)
		}
		count[cluster.TaskNode(upid)]++
	}
	for _, task := range w.hanging.tasks {
		add(task.UPID)
	}
	for _, open := range state.Open {
		if open.UPID != "" && !w.hanging.looked[open.Key()] && now.Sub(w.since(open.Step)) > w.taskTimes.Of(cluster.Op(open.Op)) {
			add(open.UPID)
		}
	}
	return count
}

// lastLook is how long a lane still looks at a task whose time is over.
const lastLook = 10 * time.Second

// boundedReader waits for tasks of an operation only until their time is over.
type boundedReader struct {
	cluster.Reader
	op    cluster.Op
	since time.Time     // when the operation began
	limit time.Duration // of a task, from then on

	progress *progresses // that a download is noted in
}

// bounded returns a reader that waits for the task of a call that is sent now.
func (w *Worker) bounded(call cluster.Call) boundedReader {
	return boundedReader{w.cluster, call.Op, time.Now(), w.taskTimes.Of(call.Op) + shutdownTimeout(call), &w.progress}
}

// boundedFor returns a reader that waits for the task of an open step.
func (w *Worker) boundedFor(open journal.OpenStep) boundedReader {
	op := cluster.Op(open.Op)
	return boundedReader{w.cluster, op, w.since(open.Step), w.taskTimes.Of(op), &w.progress}
}

// Wait waits for the end of a task. It returns a *HangingTaskError if the time of the task is over and the task still runs.
func (r boundedReader) Wait(ctx context.Context, upid string) (cluster.Task, error) {
	hanging := &HangingTaskError{Op: r.op, UPID: upid, Limit: r.limit}
	bounded, cancel := context.WithTimeoutCause(ctx, max(r.limit-time.Since(r.since), lastLook), hanging)
	defer cancel()
	if r.op == cluster.OpDownload {
		defer r.progress.follow(bounded, r.Reader, upid)()
	}
	var task cluster.Task
	var err error
	queue.WithoutSlot(ctx, func() { task, err = r.Reader.Wait(bounded, upid) })
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(bounded), hanging) {
		return cluster.Task{}, hanging
	}
	return task, err
}
