package reconcile_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/event"
)

// toldNames are the names of the events of an engine.
type toldNames struct {
	mu    sync.Mutex
	names []event.Name
}

func (a *toldNames) note(e event.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names = append(a.names, e.Name)
}

// has reports whether there was an event of a name.
func (a *toldNames) has(name event.Name) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.names, name)
}

// TestOwnWorkIsNoAlarm lets the agent create a guest, give it to the HA manager and move it, while Proxmox lists guests slowly: a list from before a step arrives
// after it. Nothing of that was hidden from the agent, or changed by others.
func TestOwnWorkIsNoAlarm(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]string{"list": "/cluster/resources$", "ha": "/cluster/ha/resources$"} {
		t.Run(name, func(t *testing.T) {
			runLabOn(t, pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}}, func(t *testing.T, l *lab) {
				seen := &toldNames{}
				l.opts.Hooks.OnEvent = seen.note
				l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Role: "Administrator"}})
				l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: slow, Kind: pvesim.HoldAfter, Nth: 3, Times: 1})) // it arrives late
				l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: slow, Kind: pvesim.Latency, Delay: 4 * time.Second, Times: -1}))
				time.AfterFunc(time.Minute, l.sim.Release)
				l.files["web.yaml"] = onNode(vmYAML("web-1", 201), "pve1")
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "ha: {state: started}", "state: running"), "pve1")
				l.push("to the HA manager", alice)
				l.approveAll(201)
				l.converge()
				time.Sleep(time.Minute)
				l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "ha: {state: started}", "state: running"), "pve2")
				l.push("to the other node", alice)
				l.converge()
				time.Sleep(time.Minute)
				for _, alarm := range []event.Name{event.GuestHidden, event.GuestDrifted} {
					if seen.has(alarm) {
						t.Errorf("got %s, want none: only the agent has worked", alarm)
					}
				}
			})
		})
	}
}

// TestMinorityHoldsNoStepForNodes lets the node that answers lose the others: its list shows them as offline, and it tells a moment later that it has no quorum. No
// step is told to wait for a node.
func TestMinorityHoldsNoStepForNodes(t *testing.T) {
	runLabOn(t, pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}}, func(t *testing.T, l *lab) {
		seen := &toldNames{}
		l.opts.Hooks.OnEvent = seen.note
		l.files["web.yaml"] = onNode(vmYAML("web-1", 201), "pve2")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Path: "/cluster/status$", Kind: pvesim.HoldBefore, Times: -1}))
		l.sim.LoseQuorum()
		l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "memory: {size: 4Gi}"), "pve2")
		l.push("more memory", alice)
		time.Sleep(2 * time.Minute)
		l.sim.ClearFaults()
		l.sim.Release()
		time.Sleep(time.Minute)
		if seen.has(event.StepHeld) {
			t.Error("got a step that waits for a node, want one word about the quorum")
		}
		if !seen.has(event.WritesStopped) {
			t.Error("got no word about the quorum, want one")
		}
	})
}
