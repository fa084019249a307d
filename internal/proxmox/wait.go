package proxmox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"gitops-agent/reconcile/cluster"
)

// Polling of a task. The first look is at once, as a task that is waited for again has often ended; the next ones come soon, as a
// config task takes a tenth of a second.
const (
	firstPoll = 100 * time.Millisecond
	lastPoll  = 2 * time.Second
)

// How much of a log is read.
const (
	tailLines    = 5    // of a failed task
	warningLines = 2000 // at the end, in which warnings are looked for
	maxWarnings  = 10
)

// Wait polls a task until it has ended. Its end is in Exit, in Proxmox's words: "unexpected status" means that the worker
// died and says nothing about what it did before, so the caller looks at the guest. With a failure comes the end of the log, and with
// "WARNINGS: 2" what was warned of, if they can be read. ErrNoTask means that the node has no record of the task.
//
// Source: PVE API, GET /nodes/{node}/tasks/{upid}/status and …/log.
func (r *Reader) Wait(ctx context.Context, name string) (cluster.Task, error) {
	parsed, err := parseUPID(name)
	if err != nil {
		return cluster.Task{}, fmt.Errorf("wait for task: %w", err)
	}
	for pause := firstPoll; ; pause = min(pause*3/2, lastPoll) {
		exit, running, err := r.taskStatus(ctx, parsed, name)
		if err != nil {
			return cluster.Task{}, fmt.Errorf("wait for %s: %w", name, err)
		}
		if !running {
			return r.ended(ctx, parsed, name, exit), nil
		}
		if err := sleep(ctx, pause); err != nil {
			return cluster.Task{}, fmt.Errorf("wait for %s: %w", name, err)
		}
	}
}

// taskStatus reads whether a task runs and how it ended.
func (r *Reader) taskStatus(ctx context.Context, parsed upid, name string) (exit string, running bool, err error) {
	x := &exchange{route: routeTaskStatus, path: taskPath(parsed, name) + "/status", node: parsed.node}
	status, err := get[struct {
		Status     string `json:"status"`
		ExitStatus scalar `json:"exitstatus"`
	}](ctx, r, x)
	var api *APIError
	switch {
	case errors.As(err, &api) && api.Status == http.StatusBadRequest && strings.Contains(api.Errors["upid"], "no such task"):
		return "", false, fmt.Errorf("%w: %w", cluster.ErrNoTask, err)
	case err != nil:
		return "", false, err
	case status.Status == "running":
		return "", true, nil
	case status.Status != "stopped" || status.ExitStatus == "":
		return "", false, fmt.Errorf("status %q with exit status %q", status.Status, string(status.ExitStatus))
	}
	return string(status.ExitStatus), false, nil
}

// ended returns a task that has ended, with what its log says unless all is well. How it ended is known without the log.
func (r *Reader) ended(ctx context.Context, parsed upid, name, exit string) cluster.Task {
	task := parsed.ended(name, exit)
	var err error
	switch task.Outcome {
	case cluster.TaskPending, cluster.TaskSucceeded:
	case cluster.TaskWarned:
		task.Warnings, err = r.warnings(ctx, parsed, name)
	case cluster.TaskFailed, cluster.TaskLost:
		task.LogTail, err = r.logTail(ctx, parsed, name)
	}
	if err != nil {
		r.log.DebugContext(ctx, "task log not read", "upid", name, "error", err)
	}
	return task
}

// ended returns what the UPID and the exit status say.
func (u upid) ended(name, exit string) cluster.Task {
	task := u.task(name)
	task.Exit = oneLine(exit)
	task.Outcome = outcomeOf(task.Exit)
	task.Err = taskError(u, task.Outcome, task.Exit)
	return task
}

// task returns what the UPID says.
func (u upid) task(name string) cluster.Task {
	return cluster.Task{UPID: name, Node: u.node, Type: u.kind, VMID: u.vmid(), User: u.user, Start: u.start}
}

// logTail reads the last lines of a log.
func (r *Reader) logTail(ctx context.Context, parsed upid, name string) (string, error) {
	lines, err := r.lastLines(ctx, parsed, name, tailLines)
	return strings.Join(lines, "\n"), err
}

// warnings returns what a task warned of, each text once and in its order.
func (r *Reader) warnings(ctx context.Context, parsed upid, name string) ([]string, error) {
	lines, err := r.lastLines(ctx, parsed, name, warningLines)
	var found []string
	for _, line := range lines {
		text, warns := strings.CutPrefix(line, "WARN: ")
		if warns && len(found) < maxWarnings && !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	return found, err
}

// lastLines reads the end of a log in two calls: a log may have millions of lines, Proxmox counts from the first, and it hands out
// the first fifty to whoever does not say which.
func (r *Reader) lastLines(ctx context.Context, parsed upid, name string, most int) ([]string, error) {
	_, total, err := r.logLines(ctx, parsed, name, 0, 1)
	if err != nil {
		return nil, err
	}
	lines, _, err := r.logLines(ctx, parsed, name, max(0, total-most), most)
	return lines, err
}

// logLines reads lines from start, counted from 0, and how many there are in all.
func (r *Reader) logLines(ctx context.Context, parsed upid, name string, start, limit int) (lines []string, total int, err error) {
	path := fmt.Sprintf("%s/log?start=%d&limit=%d", taskPath(parsed, name), start, limit)
	body, err := r.readRaw(ctx, &exchange{route: routeTaskLog, path: path, node: parsed.node})
	if err != nil {
		return nil, 0, fmt.Errorf("read log: %w", err)
	}
	var reply struct {
		Data []struct {
			Text scalar `json:"t"`
		} `json:"data"`
		Total integer `json:"total"`
	}
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		return nil, 0, fmt.Errorf("decode log: %w", err)
	}
	for _, line := range reply.Data {
		lines = append(lines, oneLine(string(line.Text)))
	}
	return lines, int(reply.Total), nil
}

func taskPath(parsed upid, name string) string {
	return "/nodes/" + parsed.node + "/tasks/" + url.PathEscape(name)
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
