package reconcile

import (
	"context"
	"fmt"
	"sync"

	"gitops-agent/reconcile/guest"
)

// answers are what a fakeReader says. The zero value has no guests and no tasks.
type answers struct {
	inventory    Inventory
	inventoryErr error
	guests       map[int]guest.Observed
	observeErr   map[int]error
	status       guest.Status
	statusErr    error
	ha           map[int]guest.HA
	haErr        error
	taken        map[int]bool
	existsErr    error
	tasks        []Task
	tasksErr     error
	ends         map[string]Task // of tasks that the node knows
	waitErr      error
}

// fakeReader notes what it was asked.
type fakeReader struct {
	answers

	mu    sync.Mutex
	asked []string
	query TaskQuery // the last one
}

func (f *fakeReader) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprintf(format, args...))
}

func (f *fakeReader) Inventory(context.Context) (Inventory, error) {
	return f.inventory, f.inventoryErr
}

func (f *fakeReader) Observe(_ context.Context, row Row) (guest.Observed, error) {
	f.note("observe %d", row.VMID)
	seen := f.guests[row.VMID]
	seen.Status = row.Status
	return seen, f.observeErr[row.VMID]
}

func (f *fakeReader) Status(_ context.Context, row Row) (guest.Status, error) {
	f.note("status %d", row.VMID)
	return f.status, f.statusErr
}

func (f *fakeReader) Exists(_ context.Context, vmid int) (bool, error) {
	f.note("exists %d", vmid)
	return f.taken[vmid], f.existsErr
}

func (f *fakeReader) HA(context.Context) (map[int]guest.HA, error) { return f.ha, f.haErr }

func (f *fakeReader) Ready(context.Context) error { return nil }

func (f *fakeReader) Wait(_ context.Context, upid string) (Task, error) {
	f.note("wait %s", upid)
	if f.waitErr != nil {
		return Task{}, f.waitErr
	}
	task, known := f.ends[upid]
	if !known {
		return Task{}, ErrNoTask
	}
	return task, nil
}

func (f *fakeReader) Tasks(_ context.Context, query TaskQuery) ([]Task, error) {
	f.note("tasks")
	f.query = query
	return f.tasks, f.tasksErr
}
