package reconcile_test

import (
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/gitsource/fault"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// isLate reports whether the report names a component as late.
func isLate(r report.Report, component report.Component) bool {
	return slices.ContainsFunc(r.Late, func(l report.Late) bool { return l.Component == component })
}

// wantFreshReports fails the test if the engine publishes no report for longer than a tick and the deadline of a cycle.
func (l *lab) wantFreshReports(during time.Duration) {
	l.Helper()
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(time.Second) {
		if age := time.Since(l.engine.Report().Time); age > 21*time.Second {
			l.Fatalf("got a report of %s ago, want one in each tick and its deadline", age)
		}
	}
}

// TestIncidentSlowAPIBlocksTheEngine lets every call take 30 seconds. The engine goes on with what it knows, says so, and notices a push.
func TestIncidentSlowAPIBlocksTheEngine(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.Latency, Delay: 30 * time.Second, Times: -1}))
		l.wantFreshReports(3 * time.Minute)
		eventually(t, "the list to be named as late", func() bool { return isLate(l.engine.Report(), report.ComponentList) })
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 3Gi}")
		head := l.push("more memory", alice)
		pushed := time.Now()
		eventually(t, "the push to be reported", func() bool { return l.engine.Report().Source.Checking() == head })
		eventually(t, "the push to be accepted", func() bool { a := l.engine.Report().Source.Accepted; return a != nil && a.Commit == head })
		if took := time.Since(pushed); took > 2*time.Minute {
			t.Errorf("got the push accepted after %s, want it after the floor was read", took)
		}
		l.wantFreshReports(3 * time.Minute)
		eventually(t, "the change, slowly", func() bool { return l.sim.Value(201, "memory") == "3072" })
		l.sim.ClearFaults()
		l.converge()
		if r := l.engine.Report(); len(r.Late) != 0 {
			t.Errorf("got %+v late after the cluster answers quickly again, want nothing", r.Late)
		}
	})
}

// TestSlowStartIsReported lets every call take 30 seconds from the start. The first report does not wait for the floor.
func TestSlowStartIsReported(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		l.once()
		l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.Latency, Delay: 30 * time.Second, Times: -1}))
		defer l.start()()
		time.Sleep(11 * time.Second)
		if r := l.engine.Report(); r.Time.IsZero() || r.Writes.Reason != "unchecked" || !isLate(r, report.ComponentRevision) {
			t.Errorf("got a report of %s, writes %q, late %+v, want one that names the floor", r.Time, r.Writes.Reason, r.Late)
		}
		l.converge()
	})
}

// TestIncidentHungNodeStopsOtherNodes makes the guests of one node hang. A guest of another node is repaired within a tick, as ever.
func TestIncidentHungNodeStopsOtherNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}}))
		l.files["cluster.yaml"] = clusterYAML
		for vmid, name := range map[int]string{201: "a-1", 202: "b-1", 203: "c-1", 204: "d-1", 205: "e-1", 206: "f-1", 207: "g-1"} {
			l.files[name+".yaml"] = vmYAML(name, vmid)
		}
		l.files["other.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: other-1}\nspec:\n  vmid: 211\n  node: pve2\n  source: {blank: {}}\n  memory: {size: 2Gi}\n"
		l.push("guests on two nodes", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "^/nodes/pve1/", Kind: pvesim.HoldBefore, Times: -1}))
		time.Sleep(time.Minute)
		for range 3 {
			l.ok(l.sim.Edit(211, "memory", "4096"))
			edited := time.Now()
			eventually(t, "the repair on the other node", func() bool { return l.sim.Value(211, "memory") == "2048" })
			if took := time.Since(edited); took > 30*time.Second {
				t.Errorf("got the repair after %s, want it within a tick and its deadline", took)
			}
		}
		l.wantFreshReports(time.Minute)
		eventually(t, "the node to be named as late", func() bool {
			return slices.ContainsFunc(l.engine.Report().Late, func(late report.Late) bool { return late.Component == report.ComponentGuests && late.Node == "pve1" })
		})
		eventually(t, "a guest of the node to be unknown", func() bool { return l.guest(l.engine.Report(), 201).Sync == report.SyncUnknown })
		if got := l.guest(l.engine.Report(), 211).Sync; got != report.Synced {
			t.Errorf("got the guest of the other node %s, want it in sync", got)
		}
		l.sim.ClearFaults()
		l.sim.Release()
		l.converge()
	})
}

// TestHangingRemoteDelaysNoLane makes a poll hang. A guest is repaired meanwhile.
func TestHangingRemoteDelaysNoLane(t *testing.T) {
	hangs := make(chan struct{}, 1)
	runLab(t, []labOption{defaultPoll}, func(t *testing.T, l *lab) {
		released := make(chan struct{})
		l.opts.Policy = func() (*verify.Policy, error) {
			select {
			case <-hangs:
				<-released
			default:
			}
			return l.policy.Load(), nil
		}
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		hangs <- struct{}{}
		time.Sleep(time.Minute)
		l.wantRepair("a repair while the poll hangs")
		l.wantFreshReports(time.Minute)
		close(released)
	})
}

// TestLateClaimIsReported makes the question before a write hang. Nothing is written, and the report says what is late.
func TestLateClaimIsReported(t *testing.T) {
	runLab(t, []labOption{func(o *reconcile.Options) { o.Poll = time.Hour }}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "^/cluster/status", Kind: pvesim.HoldBefore, Times: -1}))
		l.ok(l.sim.Edit(201, "memory", "4096"))
		eventually(t, "the claim to be late", func() bool { return isLate(l.engine.Report(), report.ComponentClaim) })
		l.wantFreshReports(time.Minute)
		l.sim.ClearFaults()
		l.sim.Release()
		eventually(t, "the repair", func() bool { return l.sim.Value(201, "memory") == "2048" })
		l.converge()
	})
}

// TestHangingRemoteIsReported asks a remote that accepts connections and never replies. The report names it as late; sockets need the real clock.
func TestHangingRemoteIsReported(t *testing.T) {
	t.Parallel()
	remote, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = remote.Close() })
	l := newLab(t, newSim(t, pvesim.Options{}), func(o *reconcile.Options) { o.Tick = 200 * time.Millisecond })
	l.remote = gitsource.Remote{URL: "http://" + remote.Addr().String() + "/guests.git", AllowInsecure: true}
	defer l.start()()
	for !isLate(l.engine.Report(), report.ComponentSource) {
		select {
		case <-t.Context().Done():
			t.Fatal("got no late remote")
		case <-time.After(50 * time.Millisecond):
		}
	}
	for _, late := range l.engine.Report().Late {
		if late.Component == report.ComponentSource && (late.Remote != l.remote.URL || late.Calls != 1) {
			t.Errorf("got %+v late, want the remote named", late)
		}
	}
	if r := l.engine.Report(); r.Source.Reason != fault.Unread || r.Source.Remotes[0].Reason != fault.Late {
		t.Errorf("got source %q, remote %q, want the remote late", r.Source.Reason, r.Source.Remotes[0].Reason)
	}
}
