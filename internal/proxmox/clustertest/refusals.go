package clustertest

import (
	"testing"

	"gitops-agent/reconcile"
)

// testConflict writes under a digest that a foreign edit has outdated.
func testConflict(t *testing.T, target Target, vmid int) {
	target.create(t, vmid)
	read := target.observe(t, vmid)
	target.do(t, target.call(reconcile.OpConfig, vmid, map[string]string{"description": "foreign"}))

	stale := target.call(reconcile.OpConfig, vmid, map[string]string{"description": "ours"})
	stale.Digest = read.Digest
	_, err := target.Cluster.Do(t.Context(), stale)
	wantError(t, "config under an old digest", err, reconcile.ErrConflict)
	if got := target.observe(t, vmid).Keys["description"].Text; got != "foreign" {
		t.Errorf("got description %q, want it as the foreign edit left it", got)
	}

	_, err = target.Cluster.Do(t.Context(), target.call(reconcile.OpCreate, vmid, nil))
	if err == nil {
		t.Error("got no error from creating a guest twice, want one")
	}
}

// testAbsent asks for a guest that is not there.
func testAbsent(t *testing.T, target Target, vmid int) {
	_, err := target.Cluster.Observe(t.Context(), target.row(vmid))
	wantError(t, "observe", err, reconcile.ErrNotExist)
	_, err = target.Cluster.Status(t.Context(), target.row(vmid))
	wantError(t, "status", err, reconcile.ErrNotExist)
	_, err = target.Cluster.Do(t.Context(), target.call(reconcile.OpConfig, vmid, map[string]string{"memory": "64"}))
	wantError(t, "config", err, reconcile.ErrNotExist)
	_, err = target.Cluster.Do(t.Context(), target.call(reconcile.OpDestroy, vmid, nil))
	wantError(t, "destroy", err, reconcile.ErrNotExist)

	upid, err := target.Cluster.Do(t.Context(), target.call(reconcile.OpStart, vmid, nil))
	if err != nil {
		t.Fatalf("start: got error %v, want a task: Proxmox looks for the guest in there", err)
	}
	if task, err := target.Cluster.Wait(t.Context(), upid); err != nil || task.OK() || task.Exit == "" {
		t.Errorf("start: got task %+v, error %v, want one that failed", task, err)
	}
}

// testDenied uses a token that the cluster refuses.
func testDenied(t *testing.T, target Target, vmid int) {
	wantError(t, "ready", target.Denied.Ready(t.Context()), reconcile.ErrDenied)
	_, err := target.Denied.Inventory(t.Context())
	wantError(t, "inventory", err, reconcile.ErrDenied)
	_, err = target.Denied.Do(t.Context(), target.call(reconcile.OpCreate, vmid, nil))
	wantError(t, "create", err, reconcile.ErrDenied)
	taken, err := target.Cluster.Exists(t.Context(), vmid)
	if err != nil || taken {
		t.Errorf("got taken %v, error %v, want nothing created", taken, err)
	}
}
