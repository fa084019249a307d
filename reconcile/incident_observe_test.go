package reconcile_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// incompleteList is a cluster whose list omits one guest as long as a test wants.
type incompleteList struct {
	cluster.Cluster
	omitted atomic.Int64 // a vmid; 0 means none
}

func (f *incompleteList) Inventory(ctx context.Context) (cluster.Inventory, error) {
	inventory, err := f.Cluster.Inventory(ctx)
	out := int(f.omitted.Load())
	inventory.Rows = slices.DeleteFunc(inventory.Rows, func(r cluster.Row) bool { return r.VMID == out })
	return inventory, err
}

// wantMadeOnce fails the test unless web-1 was created once and never destroyed.
func (l *lab) wantMadeOnce() {
	l.Helper()
	if made, gone := l.sim.Effects(201, pvesim.Cloned), l.sim.Effects(201, pvesim.Destroyed); made != 1 || gone != 0 {
		l.Errorf("got 201 created %d and destroyed %d times, want once and never", made, gone)
	}
}

// remains checks the report of a guest every 15 seconds for five minutes.
func (l *lab) remains(vmid int, what string, right func(g report.Guest) bool) {
	l.Helper()
	for range 20 {
		time.Sleep(15 * time.Second)
		if g := l.guest(l.engine.Report(), vmid); !right(g) {
			l.Fatalf("got %+v, want %s", g, what)
		}
	}
}

func TestIncidentLaggingListReadAsGone(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		f := &incompleteList{Cluster: l.cluster}
		l.opts.Cluster = f
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}", "lifecycle: {destroy: allow}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		f.omitted.Store(201)
		l.remains(201, "the guest in sync, since it answers", func(g report.Guest) bool { return g.Sync == report.Synced && g.Health == report.Healthy })
		l.wantRepair("the repair of a guest that the list leaves out")
		l.wantMadeOnce()
	})
}

// TestIncidentListThatAnswers500ReadAsGone makes the list of guests fail. A failed list contains no information about any guest, and an unknown
// guest is not a destroyed guest.
func TestIncidentListThatAnswers500ReadAsGone(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}", "lifecycle: {destroy: allow}")
		l.push("one guest", alice)
		stop := l.start()
		l.converge()
		l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "/cluster/resources", Kind: pvesim.ErrorText, Text: "Configuration file 'nodes/pve1/qemu-server/205.conf' does not exist", Times: -1}))
		writes := l.sim.Writes()
		time.Sleep(10 * time.Minute)
		if r := l.engine.Report(); r.Proxmox.Ready || l.guest(r, 201).Sync != report.SyncUnknown || r.Converged {
			t.Errorf("got ready %t and %+v, want the guest unknown while the list fails", r.Proxmox.Ready, l.guest(r, 201))
		}
		stop()
		stop = l.start() // with no reading of the guest, only its ownership
		time.Sleep(10 * time.Minute)
		if r := l.engine.Report(); l.guest(r, 201).Sync != report.SyncUnknown {
			t.Errorf("got %+v after a new start, want the guest unknown", l.guest(r, 201))
		}
		if got := l.sim.Writes(); got != writes {
			t.Errorf("got %d writes while the list failed, want none", got-writes)
		}
		l.sim.ClearFaults()
		l.converge()
		stop()
		l.wantMadeOnce()
	})
}

// TestIncidentHiddenGuestReadAsGone hides a guest from the token. The guest is not gone, and the agent must not create it again.
func TestIncidentHiddenGuestReadAsGone(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.files["db.yaml"] = vmYAML("db-1", 202)
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		all := []pvesim.ACL{{Path: "/", Role: "Administrator"}}
		l.sim.SetPrivileges("gitops@pve!agent", append(slices.Clone(all), pvesim.ACL{Path: "/vms/201", Role: "NoAccess"}))
		eventually(t, "the report that it is hidden", func() bool { return hasCondition(l.guest(l.engine.Report(), 201), plan.Blocked, reason.Denied) })
		l.remains(201, "the guest hidden", func(g report.Guest) bool { return hasCondition(g, plan.Blocked, reason.Denied) })
		l.sim.SetPrivileges("gitops@pve!agent", all)
		l.converge()
		l.wantMadeOnce()
	})
}

// TestIncidentHAMoveReadAsMustBeReplaced makes the HA manager move a guest from the node that its manifest names. The manifest only names the node
// of the creation.
func TestIncidentHAMoveReadAsMustBeReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}}))
		l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Role: "Administrator"}})
		l.files["cluster.yaml"] = clusterYAML
		l.files["web.yaml"] = vmYAML("web-1", 201, "description: serves the web", "ha: {state: started}", "lifecycle: {destroy: allow}")
		l.push("one guest under HA", alice)
		defer l.start()()
		l.converge()
		eventually(t, "the HA manager to start it", func() bool { return l.sim.Running(201) })
		l.converge()
		l.sim.StopNode("pve1")
		eventually(t, "its new node", func() bool {
			g := l.guest(l.engine.Report(), 201)
			return g.Node == "pve2" && g.Sync == report.Synced && g.Status == guest.StatusRunning
		})
		l.remains(201, "the guest in sync where HA put it", func(g report.Guest) bool { return g.Node == "pve2" && g.Sync == report.Synced })
		l.wantMadeOnce()
		l.ok(l.sim.Edit(201, "description", "by hand"))
		eventually(t, "the repair at its new node", func() bool { return l.sim.Value(201, "description") == "serves the web" })
	})
}
