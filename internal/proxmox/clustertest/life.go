package clustertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile"
	"gitops-agent/reconcile/guest"
)

// testLife takes a guest from creation to destruction.
func testLife(t *testing.T, target Target, vmid int) {
	began := time.Now().Add(-time.Minute) // the cluster's clock may be behind
	target.create(t, vmid)
	if taken, err := target.Cluster.Exists(t.Context(), vmid); err != nil || !taken {
		t.Errorf("got taken %v, error %v, want the vmid taken", taken, err)
	}
	target.wantStatus(t, vmid, guest.StatusStopped)
	wantListed(t, target, vmid)

	before := target.observe(t, vmid)
	if before.Keys["name"].Text != "clustertest" || before.Keys["memory"].Text != "64" || before.Digest == "" {
		t.Errorf("got %v with digest %q, want the guest as it was made", before.Keys, before.Digest)
	}

	change := target.call(reconcile.OpConfig, vmid, map[string]string{"description": "first line\nsecond line", "onboot": "0", "tags": "b;a"})
	change.Digest, change.Delete = before.Digest, []string{"memory"}
	target.do(t, change)
	after := target.observe(t, vmid)
	if got := after.Keys["description"].Text; got != "first line\nsecond line" {
		t.Errorf("got description %q, want both lines", got)
	}
	if got := after.Keys["onboot"]; got.Text != "0" || !got.Set {
		t.Errorf("got onboot %v, want 0 although it is the default", got)
	}
	if _, set := after.Keys["memory"]; set || after.Digest == before.Digest {
		t.Errorf("got memory set: %v, digest %q, want no memory and another digest", set, after.Digest)
	}

	grow := target.call(reconcile.OpResize, vmid, map[string]string{"disk": "scsi0", "size": "2G"})
	grow.Digest = after.Digest
	target.do(t, grow)
	if got := target.observe(t, vmid).Keys["scsi0"].Text; !strings.Contains(got, "size=2G") {
		t.Errorf("got disk %q, want size=2G", got)
	}

	target.do(t, target.call(reconcile.OpStart, vmid, nil))
	target.wantStatus(t, vmid, guest.StatusRunning)
	target.do(t, target.call(reconcile.OpStop, vmid, nil))
	target.wantStatus(t, vmid, guest.StatusStopped)

	target.do(t, target.call(reconcile.OpDestroy, vmid, map[string]string{"purge": "1"}))
	if taken, err := target.Cluster.Exists(t.Context(), vmid); err != nil || taken {
		t.Errorf("got taken %v, error %v, want the vmid free", taken, err)
	}
	wantTasks(t, target, vmid, began)
}

// wantListed wants the inventory to show a guest: it lags with names and run states, never with existence.
func wantListed(t *testing.T, target Target, vmid int) {
	t.Helper()
	inventory, err := target.Cluster.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(inventory.Rows, func(r reconcile.Row) bool { return r.VMID == vmid })
	if at < 0 || inventory.Rows[at].Node != target.Node || inventory.Rows[at].Kind != guest.VirtualMachine {
		t.Errorf("got rows %v, want the virtual machine %d on %s among them", inventory.Rows, vmid, target.Node)
	}
}

// wantTasks wants the node to remember a guest's tasks, newest first.
func wantTasks(t *testing.T, target Target, vmid int, began time.Time) {
	t.Helper()
	query := reconcile.TaskQuery{Node: target.Node, VMID: vmid, Types: []string{"qmcreate", "qmdestroy"}, Since: began}
	tasks, err := target.Cluster.Tasks(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, task := range tasks {
		types = append(types, task.Type)
		if task.VMID != vmid || !task.OK() {
			t.Errorf("got task %v, want one of vmid %d that ended well", task, vmid)
		}
	}
	if slices.Sort(types); !slices.Equal(types, []string{"qmcreate", "qmdestroy"}) {
		t.Errorf("got tasks %v, want one that created and one that destroyed", types)
	}
}

// testPending changes a key of a running guest that only a restart brings into effect.
func testPending(t *testing.T, target Target, vmid int) {
	target.create(t, vmid)
	target.do(t, target.call(reconcile.OpStart, vmid, nil))
	target.do(t, target.call(reconcile.OpConfig, vmid, map[string]string{"memory": "128"}))
	waiting := target.observe(t, vmid).Keys["memory"]
	if waiting.Text != "64" || waiting.Pending == nil || *waiting.Pending != "128" {
		t.Errorf("got memory %+v, want 64 now and 128 pending", waiting)
	}
	target.do(t, target.call(reconcile.OpStop, vmid, nil))
	applied := target.observe(t, vmid).Keys["memory"]
	if applied.Text != "128" || applied.Pending != nil {
		t.Errorf("got memory %+v after a stop, want 128 and nothing pending", applied)
	}
}
