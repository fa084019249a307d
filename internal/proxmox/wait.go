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

	"gitops-agent/internal/proxmox/meaning"
	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
)

// Intervals of polling. The first ones are short, because a config task takes a tenth of a second or less.
const (
	headStart = 30 * time.Millisecond // of a task that was started now, which has never ended yet
	firstPoll = 60 * time.Millisecond
	lastPoll  = 2 * time.Second
)

// Wait is Reader.Wait. It polls a task that Do has just started after a short time, and any other task at once, which has often ended.
func (c *Client) Wait(ctx context.Context, name string) (cluster.Task, error) {
	plain, isNew := c.started.Load(name)
	if isNew {
		if err := sleep(ctx, headStart); err != nil {
			return cluster.Task{}, fmt.Errorf("wait for %s: %w", name, err)
		}
	}
	task, err := c.wait(ctx, name, plain == true)
	if err == nil || errors.Is(err, cluster.ErrNoTask) { // otherwise it is waited for again
		c.started.Delete(name)
	}
	return task, err
}

// Limits of the lines that are read of a log.
const (
	tailLines    = 5    // of a failed task
	warningLines = 2000 // at the end of the log, searched for warnings
	maxWarnings  = 10
)

// Wait polls a task until it has ended. After TaskLost only the guest shows what the task did. A failed task has the end of its log, and a task
// with warnings has the warnings, if the log can be read. ErrNoTask means that the node has no record of the task.
//
// The library's waiter is not used: it polls at a fixed interval, ignores the end of the context while it sleeps, and treats "WARNINGS: 2" as
// a failure.
//
// Source: PVE API, GET /nodes/{node}/tasks/{upid}/status and …/log.
func (r *Reader) Wait(ctx context.Context, name string) (cluster.Task, error) {
	return r.wait(ctx, name, false)
}

// wait is Wait. The texts of a plain task, whose call had no secret, are shown as they are.
func (r *Reader) wait(ctx context.Context, name string, plain bool) (cluster.Task, error) {
	parsed, err := meaning.ParseUPID(name)
	if err != nil {
		return cluster.Task{}, fmt.Errorf("wait for task: %w", err)
	}
	for pause := firstPoll; ; pause = min(pause*3/2, lastPoll) {
		exit, running, err := r.taskStatus(ctx, parsed, name)
		if err != nil {
			return cluster.Task{}, fmt.Errorf("wait for %s: %w", name, err)
		}
		if !running {
			public := parsed.Public()
			if plain {
				public = nil
			}
			return r.ended(ctx, parsed, name, exit, public), nil
		}
		if err := sleep(ctx, pause); err != nil {
			return cluster.Task{}, fmt.Errorf("wait for %s: %w", name, err)
		}
	}
}

// taskStatus reads whether a task runs, and its exit status if the task has ended.
func (r *Reader) taskStatus(ctx context.Context, parsed meaning.UPID, name string) (exit string, running bool, err error) {
	x := &wire.Exchange{Route: route.TaskStatus, Path: taskPath(parsed, name) + "/status", Task: name, Node: parsed.Node}
	status, err := get[struct {
		Status     string       `json:"status"`
		ExitStatus reply.Scalar `json:"exitstatus"`
	}](ctx, r, x)
	var api *wire.APIError
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

// ended returns an ended task. It also reads the log, unless the task succeeded without warnings. The outcome is known without the log.
func (r *Reader) ended(ctx context.Context, parsed meaning.UPID, name, exit string, public wire.Public) cluster.Task {
	task := parsed.Ended(name, exit, public)
	var err error
	switch task.Outcome {
	case cluster.TaskPending, cluster.TaskSucceeded:
	case cluster.TaskWarned:
		task.Warnings, err = r.warnings(ctx, parsed, name)
	case cluster.TaskFailed, cluster.TaskLost:
		task.LogTail, err = r.logTail(ctx, parsed, name)
	}
	task.LogTail = public.Lines(task.LogTail)
	for i, warning := range task.Warnings {
		task.Warnings[i] = public.Shows(warning)
	}
	task.Warnings = slices.Compact(task.Warnings)
	if err != nil {
		r.log.DebugContext(ctx, "task log not read", "upid", name, "error", err)
	}
	return task
}

// TaskLog returns the last lines of a task's log, as one text, without those that may repeat a secret.
//
// Source: PVE API, GET /nodes/{node}/tasks/{upid}/log.
func (r *Reader) TaskLog(ctx context.Context, name string) (string, error) {
	parsed, err := meaning.ParseUPID(name)
	if err != nil {
		return "", err
	}
	text, err := r.logTail(ctx, parsed, name)
	return parsed.Public().Lines(text), err
}

// logTail reads the last lines of a log, as one text.
func (r *Reader) logTail(ctx context.Context, parsed meaning.UPID, name string) (string, error) {
	lines, err := r.lastLines(ctx, parsed, name, tailLines)
	return strings.Join(lines, "\n"), err
}

// warnings returns the warnings in a log, each text once, in the order of the log.
func (r *Reader) warnings(ctx context.Context, parsed meaning.UPID, name string) ([]string, error) {
	lines, err := r.lastLines(ctx, parsed, name, warningLines)
	var found []string
	for _, line := range lines {
		text, isWarning := strings.CutPrefix(line, "WARN: ")
		if isWarning && len(found) < maxWarnings && !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	return found, err
}

// lastLines reads the end of a log in two calls, the first for the number of lines. A log may have millions of lines, Proxmox counts from the
// first line, and returns the first fifty lines without a limit in the request.
func (r *Reader) lastLines(ctx context.Context, parsed meaning.UPID, name string, most int) ([]string, error) {
	_, total, err := r.logLines(ctx, parsed, name, 0, 1)
	if err != nil {
		return nil, err
	}
	lines, _, err := r.logLines(ctx, parsed, name, max(0, total-most), most)
	return lines, err
}

// logLines reads lines from start, counted from 0, and the number of all lines. The library's type is not used: it drops that number.
func (r *Reader) logLines(ctx context.Context, parsed meaning.UPID, name string, start, limit int) (lines []string, total int, err error) {
	path := fmt.Sprintf("%s/log?start=%d&limit=%d", taskPath(parsed, name), start, limit)
	body, err := r.readRaw(ctx, &wire.Exchange{Route: route.TaskLog, Path: path, Task: name, Node: parsed.Node})
	if err != nil {
		return nil, 0, fmt.Errorf("read log: %w", err)
	}
	var log struct {
		Data []struct {
			Text reply.Scalar `json:"t"`
		} `json:"data"`
		Total reply.Integer `json:"total"`
	}
	if err := json.Unmarshal([]byte(body), &log); err != nil {
		return nil, 0, fmt.Errorf("decode log: %w", err)
	}
	for _, line := range log.Data {
		lines = append(lines, reply.OneLine(string(line.Text)))
	}
	return lines, int(log.Total), nil
}

// taskPath returns the path of a task below /api2/json.
func taskPath(parsed meaning.UPID, name string) string {
	return "/nodes/" + parsed.Node + "/tasks/" + url.PathEscape(name)
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
