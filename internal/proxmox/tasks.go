package proxmox

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"gitops-agent/internal/proxmox/meaning"
	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
)

// Tasks lists the tasks of a node that match the query, newest first, including running tasks. Tasks of other users need Sys.Audit on the
// node. A clone is filed under its template's vmid.
//
// Source: PVE API, GET /nodes/{node}/tasks.
func (r *Reader) Tasks(ctx context.Context, query cluster.TaskQuery) ([]cluster.Task, error) {
	if err := route.CheckNode(query.Node); err != nil {
		return nil, fmt.Errorf("list tasks: %w", err)
	}
	types := query.Types
	if len(types) == 0 {
		types = []string{""}
	}
	found := make(map[string]cluster.Task)
	for _, kind := range types { // the API filters by one type
		if err := r.tasksOf(ctx, query, kind, found); err != nil {
			return nil, fmt.Errorf("list tasks of %s: %w", query.Node, err)
		}
	}
	return newestFirst(found), nil
}

// tasksOf adds the tasks of one type to found.
func (r *Reader) tasksOf(ctx context.Context, query cluster.TaskQuery, kind string, found map[string]cluster.Task) error {
	values := url.Values{"source": {"all"}, "limit": {strconv.Itoa(cluster.MaxTasks)}}
	if query.VMID != 0 {
		values.Set("vmid", strconv.Itoa(query.VMID))
	}
	if kind != "" {
		values.Set("typefilter", kind)
	}
	if !query.Since.IsZero() {
		values.Set("since", strconv.FormatInt(query.Since.Unix(), 10))
	}
	x := &wire.Exchange{Route: route.Tasks, Path: "/nodes/" + query.Node + "/tasks?" + values.Encode(), Node: query.Node}
	entries, err := get[[]taskEntry](ctx, r, x)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		parsed, err := meaning.ParseUPID(entry.UPID)
		if err != nil {
			return err
		}
		if query.ID == "" || query.ID == parsed.ID { // the API filters by vmid alone
			found[entry.UPID] = entry.task(parsed)
		}
	}
	return nil
}

// taskEntry is a row of a task list. The other properties of a row are also in the UPID. The library's type is not used: its decoder panics
// if endtime comes as a string.
type taskEntry struct {
	UPID    string       `json:"upid"`
	Status  reply.Scalar `json:"status"` // the exit status; RUNNING, or absent, while the task runs
	EndTime reply.Scalar `json:"endtime"`
}

// task returns the task of a row.
func (e taskEntry) task(parsed meaning.UPID) cluster.Task {
	if e.EndTime != "" {
		task := parsed.Ended(e.UPID, string(e.Status), parsed.Public())
		if seconds, err := strconv.ParseInt(string(e.EndTime), 10, 64); err == nil {
			task.End = time.Unix(seconds, 0)
		}
		return task
	}
	return parsed.Task(e.UPID)
}

// newestFirst sorts by start, and by UPID within a second.
func newestFirst(found map[string]cluster.Task) []cluster.Task {
	return slices.SortedFunc(maps.Values(found), func(a, b cluster.Task) int {
		return cmp.Or(b.Start.Compare(a.Start), cmp.Compare(b.UPID, a.UPID))
	})
}
