package clustertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gitops-agent/reconcile"
	"gitops-agent/reconcile/guest"
)

// Target is a cluster that the suite may change.
type Target struct {
	Cluster     reconcile.Cluster
	Denied      reconcile.Cluster // the same cluster, with a token that it refuses
	Node        string            // where guests are made
	Storage     string            // where disks are allocated
	First, Last int               // vmids for the suite alone, both inclusive; four are enough
}

// patience bounds one task.
const patience = 2 * time.Minute

// Run runs the suite. It fails at once, before it changes anything, if a vmid of the range is taken.
func Run(t *testing.T, target Target) {
	if err := target.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("ready", func(t *testing.T) {
		if err := target.Cluster.Ready(t.Context()); err != nil {
			t.Errorf("got error %v, want a cluster that is ready", err)
		}
	})
	t.Run("life", func(t *testing.T) { testLife(t, target, target.First) })
	t.Run("pending", func(t *testing.T) { testPending(t, target, target.First+1) })
	t.Run("conflict", func(t *testing.T) { testConflict(t, target, target.First+2) })
	t.Run("absent", func(t *testing.T) { testAbsent(t, target, target.First+3) })
	t.Run("denied", func(t *testing.T) { testDenied(t, target, target.First+3) })
}

// check refuses a range that is too small or not known to be empty.
func (target Target) check(ctx context.Context) error {
	if target.Last-target.First < 3 {
		return fmt.Errorf("vmids %d to %d: want four at least", target.First, target.Last)
	}
	for vmid := target.First; vmid <= target.Last; vmid++ {
		taken, err := target.Cluster.Exists(ctx, vmid)
		if err != nil {
			return err
		}
		if taken {
			return fmt.Errorf("vmid %d is taken: want an empty range", vmid)
		}
	}
	return nil
}

// row returns the inventory row of one of the suite's guests, without waiting for the inventory to show it.
func (target Target) row(vmid int) reconcile.Row {
	return reconcile.Row{Kind: guest.VirtualMachine, VMID: vmid, Node: target.Node}
}

func (target Target) call(op reconcile.Op, vmid int, params map[string]string) reconcile.Call {
	return reconcile.Call{Op: op, Kind: guest.VirtualMachine, Node: target.Node, VMID: vmid, Params: params}
}

// create makes a small virtual machine with one disk, and destroys it when the test ends.
func (target Target) create(t *testing.T, vmid int) {
	t.Helper()
	target.do(t, target.call(reconcile.OpCreate, vmid, map[string]string{
		"name": "clustertest", "memory": "64", "scsihw": "virtio-scsi-single", "scsi0": target.Storage + ":1",
	}))
	t.Cleanup(func() { target.remove(t, vmid) })
}

// remove stops and destroys a guest that the suite made, if it is still there.
func (target Target) remove(t *testing.T, vmid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	if taken, err := target.Cluster.Exists(ctx, vmid); err != nil || !taken {
		if err != nil {
			t.Errorf("clean up vmid %d: %v", vmid, err)
		}
		return
	}
	for _, op := range []reconcile.Op{reconcile.OpStop, reconcile.OpDestroy} {
		if err := target.settle(ctx, target.call(op, vmid, nil)); err != nil {
			t.Errorf("clean up vmid %d: %v", vmid, err)
		}
	}
}

// do carries out a call and wants its task to end well.
func (target Target) do(t *testing.T, call reconcile.Call) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := target.settle(ctx, call); err != nil {
		t.Fatal(err)
	}
}

// settle sends a call and waits for its task, if it has one.
func (target Target) settle(ctx context.Context, call reconcile.Call) error {
	upid, err := target.Cluster.Do(ctx, call)
	if err != nil || upid == "" {
		return err
	}
	task, err := target.Cluster.Wait(ctx, upid)
	if err == nil && !task.OK() {
		return fmt.Errorf("%s: task ended with %s: %s", call.Op, task.Exit, task.LogTail)
	}
	return err
}

func (target Target) observe(t *testing.T, vmid int) guest.Observed {
	t.Helper()
	observed, err := target.Cluster.Observe(t.Context(), target.row(vmid))
	if err != nil {
		t.Fatal(err)
	}
	return observed
}

func (target Target) wantStatus(t *testing.T, vmid int, want guest.Status) {
	t.Helper()
	if got, err := target.Cluster.Status(t.Context(), target.row(vmid)); err != nil || got != want {
		t.Errorf("got status %q, error %v, want %q", got, err, want)
	}
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}
