package reconcile_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestIncidentHangingTasksBlockTheCluster starts four guests on each of two nodes, whose tasks never end. The guests of a third node are started
// meanwhile. After the time of a start, the nodes with hanging tasks get no further work, and each guest is blocked with a reason.
// When a person stops the tasks, the agent starts the guests again.
func TestIncidentHangingTasksBlockTheCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}}))
		l.files["cluster.yaml"] = clusterYAML
		vmidOf := func(node, i int) int { return 200 + 10*node + i }
		put := func(count int, state string) {
			for node := 1; node <= 3; node++ {
				for i := range 6 {
					vmid := vmidOf(node, i)
					state := state
					if i >= count {
						state = "state: stopped"
					}
					l.files[fmt.Sprintf("vm-%d.yaml", vmid)] = onNode(vmYAML(fmt.Sprintf("vm-%d", vmid), vmid, state), fmt.Sprintf("pve%d", node))
				}
			}
		}
		put(0, "")
		l.push("stopped guests", alice)
		stop := l.start()
		l.converge()
		for node := 1; node <= 2; node++ {
			l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.TaskNeverEnds, Path: fmt.Sprintf("^/nodes/pve%d/qemu/[0-9]+/status/start$", node), Times: 4}))
		}
		put(5, "state: running")
		l.push("running guests", alice)
		for i := range 5 {
			vmid := vmidOf(3, i)
			eventually(t, fmt.Sprintf("the start of guest %d on the healthy node", vmid), func() bool { return l.sim.Running(vmid) })
		}
		hanging := func() (n int) {
			for _, g := range l.engine.Report().Guests {
				n += countConditions(g, plan.Blocked, reason.TaskHangs)
			}
			return n
		}
		if got := hanging(); got != 0 {
			t.Errorf("got %d guests whose task hangs when the healthy node has done its work, want the time of a start not over", got)
		}
		eventually(t, "eight guests whose task hangs", func() bool { return hanging() == 8 })
		stop()
		defer l.start()() // a restart of the agent finds the tasks again
		put(6, "state: running")
		l.push("one more on each node", alice)
		l.waitForHold(vmidOf(1, 5), reason.TaskHangs)
		l.waitForHold(vmidOf(2, 5), reason.TaskHangs)
		eventually(t, "the start on the healthy node", func() bool { return l.sim.Running(vmidOf(3, 5)) })
		for _, vmid := range []int{vmidOf(1, 5), vmidOf(2, 5)} {
			if l.sim.Running(vmid) {
				t.Errorf("got guest %d started on a node on which four tasks hang, want it held", vmid)
			}
		}
		for _, task := range l.sim.Tasks() {
			if task.Active {
				l.callAs("root@pam!full", "DELETE", "/nodes/"+cluster.TaskNode(task.UPID)+"/tasks/"+task.UPID, "")
			}
		}
		l.converge()
		for node := 1; node <= 3; node++ {
			for i := range 6 {
				if vmid := vmidOf(node, i); l.sim.Effects(vmid, pvesim.Started) != 1 {
					t.Errorf("guest %d: got %d starts, want 1", vmid, l.sim.Effects(vmid, pvesim.Started))
				}
			}
		}
	})
}

// countConditions returns how many conditions of a guest have a type and a reason.
func countConditions(g report.Guest, kind plan.ConditionType, reason reason.Name) int {
	n := 0
	for _, c := range g.Conditions {
		if c.Type == kind && c.Reason == reason {
			n++
		}
	}
	return n
}

// TestIncidentHangingTaskOfAGuestInSync orders a start whose task never ends. The manifest does not mention the run state, so the guest is in sync. It is blocked
// until the task ends all the same, and that is journaled once.
func TestIncidentHangingTaskOfAGuestInSync(t *testing.T) {
	runLabWithOrders(t, nil, false, func(t *testing.T, l *lab, _ *probe) {
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/status/start$", Kind: pvesim.TaskNeverEnds}))
		l.order("start" + web1)
		l.waitForCondition(201, string(plan.Blocked)+" "+string(reason.TaskHangs))
		for range 3 * 60 {
			time.Sleep(time.Minute)
			if g := l.guest(l.engine.Report(), 201); !hasCondition(g, plan.Blocked, reason.TaskHangs) {
				t.Fatalf("got conditions %+v at %s, want the hanging task", g.Conditions, time.Now())
			}
		}
		if got := l.journaledEvents("task-hangs"); len(got) != 1 {
			t.Errorf("got events %q, want one", got)
		}
		l.endTasks()
		l.waitForOrder("start"+web1, journal.OrderFailed)
		l.converge()
		if g := l.guest(l.engine.Report(), 201); hasCondition(g, plan.Blocked, reason.TaskHangs) {
			t.Errorf("got conditions %+v, want none after the task", g.Conditions)
		}
	})
}
