package reconcile_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// moves returns how often web-1 was moved to another node.
func (l *lab) moves() int { return l.sim.Effects(201, pvesim.Migrated) }

// addUnderHA adds a running guest that the agent does not own and that the HA manager runs.
func (l *lab) addUnderHA(vmid int, node string) {
	l.Helper()
	if _, err := l.sim.AddVM(pvesim.Guest{VMID: vmid, Node: node, Running: true}); err != nil {
		l.Fatal(err)
	}
	l.callAs("root@pam!full", "POST", "/cluster/ha/resources", "sid=vm:"+strconv.Itoa(vmid))
}

// wantAtRest requires that web-1 stays on a node for half an hour.
func (l *lab) wantAtRest(node string) {
	l.Helper()
	before := l.moves()
	time.Sleep(30 * time.Minute)
	if got := l.moves() - before; got != 0 || l.nodeOf(201) != node {
		l.Errorf("got it on %s after %d moves within half an hour, want it to stay on %s", l.nodeOf(201), got, node)
	}
}

// TestRuleAgainstPlacement lets a rule that git does not know want a guest on another node than its placement. The HA manager decides, and the agent names the rule.
// When the rule is gone, disabled or about others, or when the HA manager leaves the guest alone, placement decides.
func TestRuleAgainstPlacement(t *testing.T) {
	t.Parallel()
	node := map[string]string{"type": "node-affinity", "resources": "vm:201", "nodes": "pve1"}
	with := func(keys map[string]string, key, text string) map[string]string {
		all := map[string]string{key: text}
		for k, v := range keys {
			if k != key {
				all[k] = v
			}
		}
		return all
	}
	together := map[string]string{"type": "resource-affinity", "affinity": "positive", "resources": "vm:201,vm:300"}
	for name, test := range map[string]struct {
		ha      string // the entry of the manifest
		rule    map[string]string
		decides bool
	}{
		"nodes":       {"started", node, true},
		"strict":      {"started", with(node, "strict", "1"), true},
		"priorities":  {"started", with(node, "nodes", "pve1:2,pve2:1"), true},
		"no_failback": {"started, failback: false", node, true},
		"together":    {"started", together, true},
		"apart":       {"started", with(with(together, "affinity", "negative"), "resources", "vm:201,vm:301"), true},
		"apart_there": {"started", with(with(together, "affinity", "negative"), "resources", "vm:201,vm:302"), false},
		"disabled":    {"started", with(node, "disable", "1"), false},
		"of_another":  {"started", with(node, "resources", "vm:300"), false},
	} {
		t.Run(name, func(t *testing.T) {
			runLabUnderHA(t, pvesim.Options{}, func(t *testing.T, l *lab) {
				for vmid, node := range map[int]string{300: "pve1", 301: "pve2", 302: "pve3"} {
					l.addUnderHA(vmid, node)
				}
				l.sim.SetHARule("by-hand", test.rule)
				time.Sleep(2 * time.Minute)
				before := l.moves()
				l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "ha: {state: "+test.ha+"}"), "pve2")
				l.push("to the other node", alice)
				if test.decides {
					eventually(t, "the condition", func() bool { return l.says(reason.OtherNode, "the rule by-hand decides where the HA manager runs it") })
					l.wantAtRest("pve1")
					if r := l.engine.Report(); l.moves() != before || !r.Converged {
						t.Errorf("got %d moves and converged %t, want none, and nothing left to do", l.moves()-before, r.Converged)
					}
					if name == "nodes" {
						l.cure(reason.RuleDecides, l.saysOf("VirtualMachine/web-1"), func([]string) {
							l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "ha: {state: "+test.ha+"}"), "pve1")
							l.push("the node of the rule", alice)
						})
						l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "ha: {state: "+test.ha+"}"), "pve2")
						l.push("to the other node", alice)
					}
					l.sim.RemoveHARule("by-hand")
				}
				eventually(t, "the move", func() bool { return l.nodeOf(201) == "pve2" })
				l.converge()
				l.wantAtRest("pve2")
				if got := l.moves() - before; got != 1 {
					t.Errorf("got %d moves, want one", got)
				}
			})
		})
	}
}

// TestRuleThatComesLater lets a person make a rule against a placement that has been carried out. The HA manager moves the guest, and that is all.
func TestRuleThatComesLater(t *testing.T) {
	runLabUnderHA(t, pvesim.Options{}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "ha: {state: started}"), "pve2")
		l.push("to the other node", alice)
		eventually(t, "the move", func() bool { return l.nodeOf(201) == "pve2" })
		l.converge()
		l.sim.SetHARule("by-hand", map[string]string{"type": "node-affinity", "resources": "vm:201", "nodes": "pve1"})
		eventually(t, "the move of the HA manager", func() bool { return l.nodeOf(201) == "pve1" })
		time.Sleep(30 * time.Minute)
		if got := l.moves(); got > 4 || l.nodeOf(201) != "pve1" || !l.says(reason.OtherNode, "the rule by-hand") {
			t.Errorf("got %d moves and the guest on %s, want at most 4, and the rule to decide", got, l.nodeOf(201))
		}
		l.wantAtRest("pve1")
	})
}

// TestRuleAgainstOrder sends a signed order to move a guest where a rule does not want it. What the HA manager does is the outcome of the order.
func TestRuleAgainstOrder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule  map[string]string
		state journal.OrderState
		why   []string
		moves int
	}{
		"nodes":  {map[string]string{"type": "node-affinity", "resources": "vm:201", "nodes": "pve1"}, journal.OrderFailed, []string{"it was on pve2, and is on pve1 now", "the rule by-hand decides"}, 2},
		"strict": {map[string]string{"type": "node-affinity", "resources": "vm:201", "nodes": "pve1", "strict": "1"}, journal.OrderFailed, []string{"it was on pve2, and is on pve1 now", "the rule by-hand decides"}, 2},
		"apart":  {map[string]string{"type": "resource-affinity", "affinity": "negative", "resources": "vm:201,vm:301"}, journal.OrderFailed, []string{"vm:301", "negative affinity"}, 0},
		"allows": {map[string]string{"type": "node-affinity", "resources": "vm:201", "nodes": "pve1,pve2"}, journal.OrderRun, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			runLabUnderHA(t, pvesim.Options{TaskTime: 3 * time.Second}, func(t *testing.T, l *lab) {
				l.addUnderHA(301, "pve2")
				l.sim.SetHARule("by-hand", test.rule)
				time.Sleep(2 * time.Minute)
				before := l.moves()
				l.order(moveWeb1)
				o := l.waitForOrder(moveWeb1, test.state)
				for _, text := range test.why {
					if !strings.Contains(o.Why, text) {
						t.Errorf("got %q, want it to contain %q", o.Why, text)
					}
				}
				if got := l.requests(); got != 1 {
					t.Errorf("got %d requests, want one", got)
				}
				l.wantAtRest(map[journal.OrderState]string{journal.OrderFailed: "pve1", journal.OrderRun: "pve2"}[test.state])
				if got := l.moves() - before; got != test.moves {
					t.Errorf("got %d moves, want %d", got, test.moves)
				}
			})
		})
	}
}

// TestMaintenanceAgainstPlacement takes the node of a guest into maintenance and out of it. The HA manager moves the guest away and back, and the agent, which wants it there, does
// not.
func TestMaintenanceAgainstPlacement(t *testing.T) {
	runLabUnderHA(t, pvesim.Options{}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "ha: {state: started}"), "pve1")
		l.push("it stays there", alice)
		l.converge()
		before := l.moves()
		l.sim.SetMaintenance("pve1", true)
		eventually(t, "the move", func() bool { return l.nodeOf(201) != "pve1" })
		l.wantAtRest(l.nodeOf(201))
		l.sim.SetMaintenance("pve1", false)
		eventually(t, "the way back", func() bool { return l.nodeOf(201) == "pve1" })
		l.converge()
		l.wantAtRest("pve1")
		if got := l.moves() - before; got != 2 {
			t.Errorf("got %d moves, want one there and one back", got)
		}
	})
}

// TestOtherMoverAgainstPlacement lets something that is no rule move a guest away every five minutes, as the balancing of the HA manager or a person does. The agent moves it
// back less and less often, and says why.
func TestOtherMoverAgainstPlacement(t *testing.T) {
	runLabUnderHA(t, pvesim.Options{}, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "ha: {state: started}"), "pve1")
		l.push("it stays there", alice)
		l.converge()
		flapping := false
		for range 12 {
			if l.nodeOf(201) == "pve1" {
				l.callAs("root@pam!full", "POST", "/cluster/ha/resources/vm:201/migrate", "node=pve2")
			}
			time.Sleep(5 * time.Minute)
			flapping = flapping || l.says(reason.Flapping, "keeps changing the guest back")
		}
		if got := l.requests(); got > 7 || got == 0 || !flapping {
			t.Errorf("got %d requests of the agent within an hour and flapping %t, want two at once and one in twelve minutes", got, flapping)
		}
	})
}

// TestBalancingAgainstPlacement lets the HA manager balance the nodes (crs: ha-auto-rebalance), and move a guest away from the node of its placement every five minutes. It
// decides, the agent says so and moves nothing back. A rule about nodes, to which the balancing keeps, brings the guest back, and a signed order is still sent.
func TestBalancingAgainstPlacement(t *testing.T) {
	t.Parallel()
	for mode, test := range map[string]struct {
		scheduler map[string]string
		balances  bool
	}{
		"static":         {map[string]string{"ha": "static", "ha-auto-rebalance": "1"}, true},
		"dynamic":        {map[string]string{"ha": "dynamic", "ha-auto-rebalance": "1"}, true},
		"on_start_alone": {map[string]string{"ha": "static", "ha-rebalance-on-start": "1"}, false},
	} {
		t.Run(mode, func(t *testing.T) {
			runLabUnderHA(t, pvesim.Options{Cluster: pvesim.Datacenter{Scheduler: test.scheduler}}, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = onNode(vmYAML("web-1", 201, "ha: {state: started}"), "pve1")
				l.push("it stays there", alice)
				l.converge()
				balance := func() { l.callAs("root@pam!full", "POST", "/cluster/ha/resources/vm:201/migrate", "node=pve2") }
				balance()
				eventually(t, "the move", func() bool { return l.nodeOf(201) == "pve2" })
				if !test.balances {
					eventually(t, "the way back", func() bool { return l.nodeOf(201) == "pve1" })
					return
				}
				eventually(t, "the condition", func() bool {
					return l.says(reason.OtherNode, "the HA manager balances the nodes (crs: ha-auto-rebalance)")
				})
				l.wantAtRest("pve2")
				if !l.engine.Report().Converged || l.requests() != 0 {
					t.Errorf("got %d requests of the agent and converged %t, want none, and nothing left to do", l.requests(), l.engine.Report().Converged)
				}
				back := "migrate" + web1 + " target=pve1"
				l.order(back)
				l.waitForOrder(back, journal.OrderRun)
				balance()
				eventually(t, "the second move", func() bool { return l.nodeOf(201) == "pve2" })
				l.cure(reason.PinByRule, l.saysOf("VirtualMachine/web-1"), func([]string) {
					if mode == "dynamic" {
						l.files["web.yaml"] = strings.Replace(l.files["web.yaml"], "prefer: [pve1]", "prefer: [pve1, pve2, pve3]", 1)
						l.push("each node", alice)
						return
					}
					l.files["rule.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: AffinityRule\nmetadata: {name: web}\nspec: {type: node, nodes: [pve1], guests: [VirtualMachine/web-1]}\n"
					l.push("a rule", alice)
				})
				if mode == "dynamic" {
					l.wantAtRest("pve2")
					return
				}
				eventually(t, "the node of the rule", func() bool { return l.nodeOf(201) == "pve1" })
				l.converge()
				l.wantAtRest("pve1")
			})
		})
	}
}

// TestOrderWaitsForTheMove orders a snapshot and a backup of a guest that the HA manager moves. Each waits for the end of the move, which neither of them prevents.
func TestOrderWaitsForTheMove(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]string{"snapshot": "snapshot" + web1 + " name=before", "backup": "backup" + web1 + " storage=local"} {
		t.Run(name, func(t *testing.T) {
			slow := pvesim.Options{TaskTimes: map[string]time.Duration{"qmigrate": 3 * time.Minute}}
			runLabUnderHA(t, slow, func(t *testing.T, l *lab) {
				l.sim.SetHARule("by-hand", map[string]string{"type": "node-affinity", "resources": "vm:201", "nodes": "pve3"})
				eventually(t, "the move", func() bool { return l.sim.HAState(201) == "migrate" })
				l.order(run)
				eventually(t, "the condition", func() bool {
					return l.says(reason.WaitsFor, "the HA manager moves the guest") || l.says(reason.Locked, "migrate")
				})
				if o := l.orderOf(run); o.State != journal.OrderSeen || l.nodeOf(201) != "pve1" {
					t.Errorf("got the order %s (%s) during the move, want it to wait", o.State, o.Why)
				}
				l.waitForOrder(run, journal.OrderRun)
				if got := l.nodeOf(201); got != "pve3" || l.moves() != 1 {
					t.Errorf("got it on %s after %d moves, want it on pve3 after one", got, l.moves())
				}
			})
		})
	}
}

// TestPrioritiesBesideARuleAboutGuests describes a rule about nodes with two priorities, and a rule that keeps the same guest apart. Proxmox refuses the second, and the agent says so.
func TestPrioritiesBesideARuleAboutGuests(t *testing.T) {
	runLabUnderHA(t, pvesim.Options{}, func(t *testing.T, l *lab) {
		l.addUnderHA(301, "pve2")
		l.sim.SetHARule("by-hand", map[string]string{"type": "node-affinity", "resources": "vm:201", "nodes": "pve1:2,pve2"})
		l.files["rule.yaml"] = strings.NewReplacer("positive", "negative", "VirtualMachine/web-2", "vm:301").Replace(apartYAML)
		l.push("keep them apart", alice)
		eventually(t, "Proxmox's answer", func() bool {
			for _, c := range l.object("AffinityRule/apart").Conditions {
				if c.Reason == reason.Name(cluster.OpObjectAdd) || strings.Contains(c.Message, "multiple priorities") {
					return strings.Contains(c.Message, "multiple priorities")
				}
			}
			return false
		})
		l.wantAtRest("pve1")
	})
}

// TestRuleKeepsAFreshClone lets a person put a clone under HA before it has left the node of its template, with a rule that keeps it there: it is configured all the same, and what its
// manifest ignores from then on belongs to others.
func TestRuleKeepsAFreshClone(t *testing.T) {
	runLabOfHA(t, func(t *testing.T, l *lab) {
		l.sim.SetMaintenance("pve2", true)
		l.files["web.yaml"] = strings.Replace(vmYAML("web-1", 201, "memory: {size: 3Gi}", "ignoreFields: [memory.size]"), "node: pve1", "node: pve2", 1)
		l.push("a clone for another node", alice)
		defer l.start()()
		eventually(t, "the clone", func() bool { return l.nodeOf(201) == "pve1" })
		time.Sleep(2 * time.Minute)
		l.callAs("root@pam!full", "POST", "/cluster/ha/resources", "sid=vm:201&state=stopped")
		l.callAs("root@pam!full", "POST", "/cluster/ha/rules", "rule=by-hand&type=node-affinity&resources=vm:201&nodes=pve1")
		l.sim.SetMaintenance("pve2", false)
		eventually(t, "the condition", func() bool { return l.says(reason.OtherNode, "the rule by-hand") })
		l.converge()
		time.Sleep(5 * time.Minute)
		if owned := l.journal.State().Owned[201]; owned.Configuring || l.sim.Value(201, "memory") != "3072" || l.nodeOf(201) != "pve1" {
			t.Fatalf("got it being configured %t with %s MiB on %s, want it configured with 3072 on pve1", owned.Configuring, l.sim.Value(201, "memory"), l.nodeOf(201))
		}
		l.ok(l.sim.Edit(201, "memory", "2048"))
		time.Sleep(5 * time.Minute)
		if got := l.sim.Value(201, "memory"); got != "2048" {
			t.Errorf("got %s MiB after an edit of an ignored field, want 2048", got)
		}
	})
}
