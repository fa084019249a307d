package clustertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// patience is the time limit of one task, and of waiting for a change in the lists of the cluster.
const patience = 3 * time.Minute

// testGuest is a guest that a test has created.
type testGuest struct {
	*suite
	kind guest.Kind
	vmid int
	node string
}

// newVM creates a small virtual machine without an operating system, and removes it when the test ends. extra adds or replaces parameters.
func (s *suite) newVM(t *testing.T, extra map[string]string) *testGuest {
	t.Helper()
	m := &testGuest{suite: s, kind: guest.VirtualMachine, vmid: s.vmid(t), node: s.Nodes[0]}
	params := map[string]string{"name": "clustertest", "memory": "64", "scsihw": "virtio-scsi-single", "scsi0": s.Storage + ":1"}
	maps.Copy(params, extra)
	m.create(t, m.call(cluster.OpCreate, params))
	return m
}

// newCT creates a container and removes it when the test ends. extra adds or replaces parameters.
func (s *suite) newCT(t *testing.T, extra map[string]string) *testGuest {
	t.Helper()
	if s.Template == "" {
		s.lacks(t, "container template")
	}
	m := &testGuest{suite: s, kind: guest.Container, vmid: s.vmid(t), node: s.Nodes[0]}
	params := map[string]string{"hostname": "clustertest", "memory": "128", "ostemplate": s.Template, "rootfs": s.Storage + ":2", "unprivileged": "1"}
	maps.Copy(params, extra)
	m.create(t, m.call(cluster.OpCreate, params))
	return m
}

// clone creates a guest from the template m and removes it when the test ends.
func (m *testGuest) clone(t *testing.T, params map[string]string) *testGuest {
	t.Helper()
	c := &testGuest{suite: m.suite, kind: m.kind, vmid: m.suite.vmid(t), node: m.node}
	call := c.call(cluster.OpCreate, params)
	call.CloneOf = m.vmid
	c.create(t, call)
	return c
}

// create carries out the call that creates the guest. When the test ends, it also removes a partly created guest.
func (m *testGuest) create(t *testing.T, call cluster.Call) {
	t.Helper()
	t.Cleanup(func() { m.remove(t) })
	m.run(t, call)
}

// call returns a call for the guest.
func (m *testGuest) call(op cluster.Op, params map[string]string) cluster.Call {
	return cluster.Call{Op: op, Kind: m.kind, Node: m.node, VMID: m.vmid, Params: params}
}

// do carries out an operation and requires its task to succeed.
func (m *testGuest) do(t *testing.T, op cluster.Op, params map[string]string) {
	t.Helper()
	m.run(t, m.call(op, params))
}

// set writes keys of the configuration.
func (m *testGuest) set(t *testing.T, params map[string]string) {
	t.Helper()
	m.do(t, cluster.OpConfig, params)
}

// unset removes keys of the configuration.
func (m *testGuest) unset(t *testing.T, keys ...string) {
	t.Helper()
	call := m.call(cluster.OpConfig, nil)
	call.Delete = keys
	m.run(t, call)
}

// run carries out a call and requires its task to succeed.
func (m *testGuest) run(t *testing.T, call cluster.Call) {
	t.Helper()
	if task, err := m.try(t, call); err != nil {
		t.Fatal(err)
	} else if task.UPID != "" && !task.OK() {
		t.Fatalf("%s %s/%d: task ended with %s: %s", call.Op, call.Kind.API(), call.VMID, task.Exit, task.LogTail)
	}
}

// try carries out a call and returns its ended task, or the zero Task if the call has no task. The error is that of the call.
func (m *testGuest) try(t *testing.T, call cluster.Call) (cluster.Task, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return runCall(ctx, m.Cluster, call)
}

// runCall carries out a call and waits for the end of its task.
func runCall(ctx context.Context, live cluster.Cluster, call cluster.Call) (cluster.Task, error) {
	upid, err := live.Do(ctx, call, nil)
	if err != nil || upid == "" {
		return cluster.Task{}, err
	}
	return live.Wait(ctx, upid)
}

// wantFailure requires a call, or its task, to fail with the error want.
func (m *testGuest) wantFailure(t *testing.T, what string, call cluster.Call, want error) {
	t.Helper()
	task, err := m.try(t, call)
	if err == nil {
		err = task.Err
	}
	wantError(t, what, err, want)
	if task.OK() {
		t.Errorf("%s: got a task that succeeded, want it to fail", what)
	}
}

// row returns the guest's row of the inventory, without waiting for the inventory to show it.
func (m *testGuest) row() cluster.Row {
	return cluster.Row{Kind: m.kind, VMID: m.vmid, Node: m.node}
}

// observe reads the guest.
func (m *testGuest) observe(t *testing.T) guest.Observed {
	t.Helper()
	observed, err := m.Cluster.Observe(t.Context(), m.row())
	if err != nil {
		t.Fatal(err)
	}
	return observed
}

// key returns the present value of a key, empty if the key is not set.
func (m *testGuest) key(t *testing.T, key string) string {
	t.Helper()
	return m.observe(t).Keys[key].Text
}

func (m *testGuest) wantStatus(t *testing.T, want guest.Status) {
	t.Helper()
	if got, _, err := m.Cluster.Status(t.Context(), m.row()); err != nil || got != want {
		t.Errorf("got status %q, error %v, want %q", got, err, want)
	}
}

func (m *testGuest) wantTaken(t *testing.T, want bool) {
	t.Helper()
	if got, err := m.Cluster.Exists(t.Context(), m.vmid); err != nil || got != want {
		t.Errorf("got vmid %d taken %v, error %v, want %v", m.vmid, got, err, want)
	}
}

// inventoryRow returns the guest's row of the inventory, and whether there is one.
func (m *testGuest) inventoryRow(t *testing.T) (cluster.Row, bool) {
	t.Helper()
	inventory, err := m.Cluster.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(inventory.Rows, func(r cluster.Row) bool { return r.VMID == m.vmid })
	if at < 0 {
		return cluster.Row{}, false
	}
	return inventory.Rows[at], true
}

// eventually waits until shown returns true. The lists of the cluster lag, and the HA manager acts at intervals.
func eventually(t *testing.T, what string, shown func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for pause := 50 * time.Millisecond; !shown(); pause = min(2*pause, 2*time.Second) {
		if time.Now().After(deadline) {
			t.Fatalf("got no change to %s within %v", what, patience)
		}
		time.Sleep(pause)
	}
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

// remove stops and destroys the guest if it exists, on any node and in any state.
func (m *testGuest) remove(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	if err := m.destroy(ctx); err != nil {
		t.Errorf("clean up vmid %d: %v", m.vmid, err)
	}
}

// destroy removes the HA entry and the protection of the guest, stops the guest and destroys it.
func (m *testGuest) destroy(ctx context.Context) error {
	taken, err := m.Cluster.Exists(ctx, m.vmid)
	if err != nil || !taken {
		return err
	}
	if err := m.findNode(ctx); err != nil {
		return err
	}
	seen, err := m.Cluster.Observe(ctx, m.row())
	if err != nil {
		return err
	}
	resources, err := m.Cluster.HA(ctx)
	if err != nil {
		return err
	}
	if _, managed := resources[m.vmid]; managed {
		if err := m.runChecked(ctx, m.call(cluster.OpHARemove, nil)); err != nil {
			return err
		}
	}
	if seen.Keys["protection"].Text == "1" {
		if err := m.runChecked(ctx, m.call(cluster.OpConfig, map[string]string{"protection": "0"})); err != nil {
			return err
		}
	}
	status, _, err := m.Cluster.Status(ctx, m.row())
	if err != nil {
		return err
	}
	if status != guest.StatusStopped {
		if err := m.runChecked(ctx, m.call(cluster.OpStop, nil)); err != nil {
			return err
		}
	}
	return m.runChecked(ctx, m.call(cluster.OpDestroy, map[string]string{"purge": "1"}))
}

// findNode reads the node of the guest, because a test may have ended during a migration.
func (m *testGuest) findNode(ctx context.Context) error {
	inventory, err := m.Cluster.Inventory(ctx)
	if err != nil {
		return err
	}
	for _, row := range inventory.Rows {
		if row.VMID == m.vmid {
			m.node = row.Node
		}
	}
	return nil
}

// runChecked carries out a call and returns an error if the call or its task failed.
func (m *testGuest) runChecked(ctx context.Context, call cluster.Call) error {
	task, err := runCall(ctx, m.Cluster, call)
	if err == nil && task.UPID != "" && !task.OK() {
		return errors.Join(task.Err, fmt.Errorf("%s: task ended with %s: %s", call.Op, task.Exit, task.LogTail))
	}
	return err
}
