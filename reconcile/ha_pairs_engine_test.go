package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// slowMoves are migrations of three minutes, as of a large memory.
var slowMoves = pvesim.Options{TaskTimes: map[string]time.Duration{"qmigrate": 3 * time.Minute}}

// movedByRule lets a rule move web-1 from pve1 to pve3, and returns when the HA manager has begun to move it.
func (l *lab) movedByRule() {
	l.Helper()
	l.sim.SetHARule("by-hand", map[string]string{"type": "node-affinity", "resources": "vm:201", "nodes": "pve3"})
	eventually(l, "the move", func() bool { return l.sim.HAState(201) == "migrate" })
}

// wantArrived requires that web-1 was moved once, to pve3.
func (l *lab) wantArrived() {
	l.Helper()
	if got := l.nodeOf(201); got != "pve3" || l.moves() != 1 {
		l.Errorf("got it on %s after %d moves, want it on pve3 after one", got, l.moves())
	}
}

// TestRecoveryAgainstNode loses the node of a guest whose manifest names it without letting the agent move it. The HA manager starts the guest on another node, where it stays with a
// warning; when a rule lets it fail back, that is the HA manager's work too.
func TestRecoveryAgainstNode(t *testing.T) {
	runLabUnderHA(t, pvesim.Options{ResourcesPeriod: 10 * time.Second}, func(t *testing.T, l *lab) {
		l.sim.StopNode("pve1")
		eventually(t, "the recovery", func() bool { return l.nodeOf(201) != "pve1" && l.sim.Running(201) })
		l.sim.StartNode("pve1")
		elsewhere := l.nodeOf(201)
		eventually(t, "the warning", func() bool { return l.says(reason.OtherNode, "it is on "+elsewhere+", and its manifest names pve1") })
		l.converge()
		l.wantAtRest(elsewhere)
		l.sim.SetHARule("by-hand", map[string]string{"type": "node-affinity", "resources": "vm:201", "nodes": "pve1:2,pve2:1,pve3:1"})
		eventually(t, "the failback", func() bool { return l.nodeOf(201) == "pve1" })
		eventually(t, "no warning", func() bool { return !l.says(reason.OtherNode, "") })
		l.converge()
		l.wantAtRest("pve1")
		if got := l.requests(); got != 0 {
			t.Errorf("got %d requests of the agent, want none", got)
		}
	})
}

// TestOrderAgainstMaintenance orders a move to a node in maintenance: the order waits until the maintenance ends, and is carried out once.
func TestOrderAgainstMaintenance(t *testing.T) {
	runLabUnderHA(t, pvesim.Options{}, func(t *testing.T, l *lab) {
		l.sim.SetMaintenance("pve2", true)
		time.Sleep(time.Minute)
		l.order(moveWeb1)
		time.Sleep(20 * time.Minute)
		if o := l.orderOf(moveWeb1); o.State != journal.OrderSeen || l.requests() != 0 {
			t.Errorf("got the order %s (%s) after %d requests, want it to wait", o.State, o.Why, l.requests())
		}
		l.sim.SetMaintenance("pve2", false)
		l.waitForOrder(moveWeb1, journal.OrderRun)
		if got := l.nodeOf(201); got != "pve2" || l.requests() != 1 {
			t.Errorf("got it on %s after %d requests, want pve2 after one", got, l.requests())
		}
	})
}

// TestPowerOrderAgainstHA orders what would change the run state that the HA manager keeps: each order is refused, and the field that changes the run state is named.
func TestPowerOrderAgainstHA(t *testing.T) {
	runLabUnderHA(t, pvesim.Options{}, func(t *testing.T, l *lab) {
		for _, op := range []string{"shutdown", "stop", "suspend", "start"} {
			run := op + web1
			l.order(run)
			if o := l.waitForOrder(run, journal.OrderRefused); !strings.Contains(o.Why, "spec.ha") && !strings.Contains(o.Why, "state: running") {
				t.Errorf("%s: got %q, want the field that decides", op, o.Why)
			}
		}
		if !l.sim.Running(201) {
			t.Error("got it stopped, want it running")
		}
	})
}

// TestStepWaitsForTheMove changes the configuration of a guest that the HA manager moves: the change comes after the move.
func TestStepWaitsForTheMove(t *testing.T) {
	runLabUnderHA(t, slowMoves, func(t *testing.T, l *lab) {
		l.movedByRule()
		l.files["web.yaml"] = vmYAML("web-1", 201, "ha: {state: started}", "state: running", "description: changed")
		l.push("a change during the move", alice)
		eventually(t, "the condition", func() bool {
			return l.says(reason.WaitsFor, "the HA manager moves the guest") || l.says(reason.Locked, "migrate")
		})
		for l.nodeOf(201) == "pve1" {
			if l.sim.Value(201, "description") != "" && l.sim.HAState(201) == "migrate" {
				t.Fatal("got the change during the move, want it afterwards")
			}
			time.Sleep(time.Second)
		}
		l.converge()
		if got := l.sim.Value(201, "description"); got != "changed" {
			t.Errorf("got the description %q, want the change", got)
		}
		l.wantArrived()
	})
}

// TestScheduledSnapshotWaitsForTheMove lets the hour of a snapshot come while the HA manager moves the guest: the snapshot comes after the move, and prevents nothing.
func TestScheduledSnapshotWaitsForTheMove(t *testing.T) {
	hours := pvesim.Options{TaskTimes: map[string]time.Duration{"qmigrate": 70 * time.Minute}}
	runLabUnderHA(t, hours, func(t *testing.T, l *lab) {
		l.movedByRule()
		before := l.sim.Effects(201, pvesim.Snapshotted)
		l.files["web.yaml"] = vmYAML("web-1", 201, "ha: {state: started}", "state: running", "snapshots: {schedule: hourly, keep: 2}")
		l.push("snapshots", alice)
		for l.sim.Value(201, "lock") != "" || l.nodeOf(201) == "pve1" { // the configuration moves before the task ends
			if got := l.sim.Effects(201, pvesim.Snapshotted) - before; got != 0 {
				t.Fatalf("got %d snapshots during the move, want none", got)
			}
			time.Sleep(10 * time.Second)
		}
		eventually(t, "the snapshot", func() bool { return l.sim.Effects(201, pvesim.Snapshotted) > before })
		l.wantArrived()
	})
}

// TestOrderAgainstGuestThatIsGivenUp orders a move of a guest that the HA manager has given up. Proxmox refuses the request, and the order ends with the reason.
func TestOrderAgainstGuestThatIsGivenUp(t *testing.T) {
	runLabUnderHA(t, pvesim.Options{}, func(t *testing.T, l *lab) {
		l.ok(l.sim.Edit(201, "net0", "virtio,bridge=vmbr9")) // no node has it
		l.ok(l.sim.SetRunning(201, false))
		eventually(t, "the guest given up", func() bool {
			g := l.guest(l.engine.Report(), 201)
			return l.sim.HAState(201) == "error" && hasCondition(g, plan.Blocked, reason.HAError) && g.Health == report.Degraded
		})
		before := l.moves()
		run := "migrate" + web1 + " target=" + map[string]string{"pve1": "pve2", "pve2": "pve3", "pve3": "pve1"}[l.nodeOf(201)]
		l.order(run)
		if o := l.waitForOrder(run, journal.OrderFailed); !strings.Contains(o.Why, "error state") && !strings.Contains(o.Why, "ha-manager migrate") {
			t.Errorf("got %q, want what the HA manager says", o.Why)
		}
		if got := l.moves() - before; got != 0 {
			t.Errorf("got %d moves, want none", got)
		}
	})
}
