package reconcile_test

import (
	"slices"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestGuestThatTheHAManagerGaveUp lets the HA manager give a guest up, and a person repair it. Until then the guest is Degraded, and the agent leaves its entry alone, also when it
// is disabled, which is no drift. Afterwards the agent sets what the manifest says.
func TestGuestThatTheHAManagerGaveUp(t *testing.T) {
	runLabUnderHA(t, pvesim.Options{}, func(t *testing.T, l *lab) {
		const entry = "/cluster/ha/resources/vm:201"
		puts := func() int { return l.sim.Counters().Objects[entry]["PUT"] }
		before := puts()
		net := l.sim.Value(201, "net0")
		l.ok(l.sim.Edit(201, "net0", "virtio,bridge=vmbr9")) // no node has it, and no manifest names it
		l.ok(l.sim.SetRunning(201, false))
		isGivenUp := func(g report.Guest) bool {
			return hasCondition(g, plan.Blocked, reason.HAError) && g.Health == report.Degraded && !changes(g, "ha")
		}
		eventually(t, "the guest given up", func() bool {
			return l.sim.HAState(201) == "error" && isGivenUp(l.guest(l.engine.Report(), 201))
		})
		l.remains(201, "given up", isGivenUp)
		l.cure(reason.RepairHA, l.saysOf("VirtualMachine/web-1"), func([]string) {
			l.ok(l.sim.Edit(201, "net0", net))
			l.byPerson("PUT", entry, "state=disabled")
			for l.sim.HAState(201) == "error" {
				if g := l.guest(l.engine.Report(), 201); changes(g, "ha") || puts() != before+1 {
					t.Fatalf("got a change of the entry planned %t and %d made, want none before the HA manager has left the state error", changes(g, "ha"), puts()-before-1)
				}
				time.Sleep(time.Second)
			}
		})
		eventually(t, "it runs", func() bool { return l.sim.Running(201) })
		eventually(t, "it is healthy", func() bool {
			g := l.guest(l.engine.Report(), 201)
			return g.Health == report.Healthy && g.Sync == report.Synced
		})
		if got := puts() - before; got != 2 {
			t.Errorf("got %d changes of the entry, want those of the person and of the agent", got)
		}
	})
}

// changes reports whether a guest has a change of a key.
func changes(g report.Guest, key string) bool {
	return slices.ContainsFunc(g.Changes, func(c report.Change) bool { return c.Key == key })
}

// TestGuestOfANodeThatIsOffline reads a guest, and then its node goes offline: what was read of it says nothing any more.
func TestGuestOfANodeThatIsOffline(t *testing.T) {
	runLabOn(t, pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "state: running"), "pve2")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.sim.StopNode(l.nodeOf(201))
		eventually(t, "it is not healthy", func() bool { return l.guest(l.engine.Report(), 201).Health == report.HealthUnknown })
		l.remains(201, "unknown health", func(g report.Guest) bool { return g.Health == report.HealthUnknown })
	})
}
