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

// patience bounds one task, and how long the cluster may take to show something.
const patience = 3 * time.Minute

// machine is a guest that a test has made.
type machine struct {
	*suite
	kind guest.Kind
	vmid int
	node string
}

// newVM makes a small virtual machine without a system and removes it when the test ends. extra adds to what it has, or replaces it.
func (s *suite) newVM(t *testing.T, extra map[string]string) *machine {
	t.Helper()
	m := &machine{suite: s, kind: guest.VirtualMachine, vmid: s.vmid(t), node: s.Nodes[0]}
	params := map[string]string{"name": "clustertest", "memory": "64", "scsihw": "virtio-scsi-single", "scsi0": s.Storage + ":1"}
	maps.Copy(params, extra)
	m.make(t, m.call(cluster.OpCreate, params))
	return m
}

// newCT makes a container and removes it when the test ends.
func (s *suite) newCT(t *testing.T, extra map[string]string) *machine {
	t.Helper()
	if s.Template == "" {
		s.lacks(t, "container template")
	}
	m := &machine{suite: s, kind: guest.Container, vmid: s.vmid(t), node: s.Nodes[0]}
	params := map[string]string{"hostname": "clustertest", "memory": "128", "ostemplate": s.Template, "rootfs": s.Storage + ":2", "unprivileged": "1"}
	maps.Copy(params, extra)
	m.make(t, m.call(cluster.OpCreate, params))
	return m
}

// clone makes a guest from a template and removes it when the test ends.
func (m *machine) clone(t *testing.T, params map[string]string) *machine {
	t.Helper()
	c := &machine{suite: m.suite, kind: m.kind, vmid: m.suite.vmid(t), node: m.node}
	call := c.call(cluster.OpCreate, params)
	call.CloneOf = m.vmid
	c.make(t, call)
	return c
}

// make carries out the call that makes the guest. What a call that failed half-way leaves is removed, too.
func (m *machine) make(t *testing.T, call cluster.Call) {
	t.Helper()
	t.Cleanup(func() { m.remove(t) })
	m.run(t, call)
}

func (m *machine) call(op cluster.Op, params map[string]string) cluster.Call {
	return cluster.Call{Op: op, Kind: m.kind, Node: m.node, VMID: m.vmid, Params: params}
}

// do carries out an operation and wants its task to end well.
func (m *machine) do(t *testing.T, op cluster.Op, params map[string]string) {
	t.Helper()
	m.run(t, m.call(op, params))
}

// set writes keys of the configuration.
func (m *machine) set(t *testing.T, params map[string]string) {
	t.Helper()
	m.do(t, cluster.OpConfig, params)
}

// unset removes keys of the configuration.
func (m *machine) unset(t *testing.T, keys ...string) {
	t.Helper()
	call := m.call(cluster.OpConfig, nil)
	call.Delete = keys
	m.run(t, call)
}

// run carries out a call and wants its task to end well.
func (m *machine) run(t *testing.T, call cluster.Call) {
	t.Helper()
	if task, err := m.try(t, call); err != nil {
		t.Fatal(err)
	} else if task.UPID != "" && !task.OK() {
		t.Fatalf("%s %s/%d: task ended with %s: %s", call.Op, call.Kind.API(), call.VMID, task.Exit, task.LogTail)
	}
}

// try carries out a call and returns the end of its task, the zero Task where there is none. The error is the call's own.
func (m *machine) try(t *testing.T, call cluster.Call) (cluster.Task, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return settle(ctx, m.Cluster, call)
}

func settle(ctx context.Context, live cluster.Cluster, call cluster.Call) (cluster.Task, error) {
	upid, err := live.Do(ctx, call)
	if err != nil || upid == "" {
		return cluster.Task{}, err
	}
	return live.Wait(ctx, upid)
}

// fails wants a call, or the task that it began, to fail with an error.
func (m *machine) fails(t *testing.T, what string, call cluster.Call, want error) {
	t.Helper()
	task, err := m.try(t, call)
	if err == nil {
		err = task.Err
	}
	wantError(t, what, err, want)
	if task.OK() {
		t.Errorf("%s: got a task that ended well, want it to fail", what)
	}
}

// row returns the guest's row of the inventory, without waiting for the inventory to show it.
func (m *machine) row() cluster.Row {
	return cluster.Row{Kind: m.kind, VMID: m.vmid, Node: m.node}
}

func (m *machine) observe(t *testing.T) guest.Observed {
	t.Helper()
	observed, err := m.Cluster.Observe(t.Context(), m.row())
	if err != nil {
		t.Fatal(err)
	}
	return observed
}

// key returns what a key has now, empty when it is not set.
func (m *machine) key(t *testing.T, key string) string {
	t.Helper()
	return m.observe(t).Keys[key].Text
}

func (m *machine) wantStatus(t *testing.T, want guest.Status) {
	t.Helper()
	if got, err := m.Cluster.Status(t.Context(), m.row()); err != nil || got != want {
		t.Errorf("got status %q, error %v, want %q", got, err, want)
	}
}

func (m *machine) wantTaken(t *testing.T, want bool) {
	t.Helper()
	if got, err := m.Cluster.Exists(t.Context(), m.vmid); err != nil || got != want {
		t.Errorf("got vmid %d taken %v, error %v, want %v", m.vmid, got, err, want)
	}
}

// listed returns the guest's row of the inventory.
func (m *machine) listed(t *testing.T) (cluster.Row, bool) {
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

// eventually waits until the cluster shows something, as its lists lag and its managers take their time.
func eventually(t *testing.T, what string, shown func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for pause := 50 * time.Millisecond; !shown(); pause = min(2*pause, 2*time.Second) {
		if time.Now().After(deadline) {
			t.Fatalf("got no sign of %s for %v", what, patience)
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

// remove stops and destroys the guest, if it is still there, wherever a test left it.
func (m *machine) remove(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	if err := m.destroy(ctx); err != nil {
		t.Errorf("clean up vmid %d: %v", m.vmid, err)
	}
}

// destroy takes away what would keep the guest, or bring it back, and then the guest.
func (m *machine) destroy(ctx context.Context) error {
	taken, err := m.Cluster.Exists(ctx, m.vmid)
	if err != nil || !taken {
		return err
	}
	if err := m.locate(ctx); err != nil {
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
		if err := m.finish(ctx, m.call(cluster.OpHARemove, nil)); err != nil {
			return err
		}
	}
	if seen.Keys["protection"].Text == "1" {
		if err := m.finish(ctx, m.call(cluster.OpConfig, map[string]string{"protection": "0"})); err != nil {
			return err
		}
	}
	status, err := m.Cluster.Status(ctx, m.row())
	if err != nil {
		return err
	}
	if status != guest.StatusStopped {
		if err := m.finish(ctx, m.call(cluster.OpStop, nil)); err != nil {
			return err
		}
	}
	return m.finish(ctx, m.call(cluster.OpDestroy, map[string]string{"purge": "1"}))
}

// locate finds the node that the guest is on: a test may have ended while it was on its way.
func (m *machine) locate(ctx context.Context) error {
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

// finish carries out a call and fails if its task does.
func (m *machine) finish(ctx context.Context, call cluster.Call) error {
	task, err := settle(ctx, m.Cluster, call)
	if err == nil && task.UPID != "" && !task.OK() {
		return errors.Join(task.Err, fmt.Errorf("%s: task ended with %s: %s", call.Op, task.Exit, task.LogTail))
	}
	return err
}
