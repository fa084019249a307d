package reconcile_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// runLabWithThreeNodes runs a test on three nodes of 16 GiB.
func runLabWithThreeNodes(t *testing.T, test func(t *testing.T, l *lab)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2", "pve3"}, Memory: 16 << 30}))
		l.files["cluster.yaml"] = clusterYAML
		test(t, l)
	})
}

// placed makes the agent choose the node of a guest.
func placed(manifest, auto string) string {
	return strings.Replace(manifest, "  node: pve1\n", "  placement: {auto: "+auto+"}\n", 1)
}

// webContainers is a set of containers whose nodes the agent chooses.
func webContainers(n int, auto string) string {
	return fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: GuestSet\nmetadata: {name: web, labels: {role: web}}\nspec:\n"+
		"  container: {placement: {auto: %s}, source: {template: {volume: \"local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst\"}}, rootfs: {storage: local, size: 4Gi}, memory: {size: 2Gi}, state: running}\n"+
		"  range: {from: 1, to: %d}\n  each: {name: \"web-${n:02}\"}\n", auto, n)
}

// onNodes returns how many guests of the vmid range are on each node.
func (l *lab) onNodes() map[string]int {
	count := map[string]int{}
	for _, g := range l.sim.Guests() {
		if g.VMID >= 200 && g.VMID < 300 {
			count[g.Node]++
		}
	}
	return count
}

// TestNodesOfASetAreSpread creates twelve guests of one commit at once: each choice counts for the next one, long before the guests run.
func TestNodesOfASetAreSpread(t *testing.T) {
	t.Parallel()
	for _, auto := range []string{"{}", "{prefer: least-cpu}", "{prefer: spread}", "{antiAffinity: [role]}", "{nodes: [pve2, pve3]}"} {
		t.Run(auto, func(t *testing.T) {
			runLabWithThreeNodes(t, func(t *testing.T, l *lab) {
				l.files["web.yaml"] = webContainers(12, auto)
				l.push("twelve web servers", alice)
				defer l.start()()
				l.converge()
				want := map[string]int{"pve1": 4, "pve2": 4, "pve3": 4}
				if strings.Contains(auto, "nodes") {
					want = map[string]int{"pve2": 6, "pve3": 6}
				}
				if got := l.onNodes(); !maps.Equal(got, want) {
					t.Errorf("got guests on %v, want %v", got, want)
				}
				for vmid, p := range l.journal.State().Placed {
					if g := l.guest(l.engine.Report(), vmid); p.Reason == "" || g.WhyNode != p.Reason || g.Node != p.Node {
						t.Errorf("%d: got node %s chosen as %q in the report, want %s as %q of the journal", vmid, g.Node, g.WhyNode, p.Node, p.Reason)
					}
				}
			})
		})
	}
}

// TestChosenNodeSurvivesACrash crashes the agent between the choice and the creation, and after the call. Meanwhile the chosen node gets other guests, so that
// another choice would be made now: the guest is created on the node of the journal, once.
func TestChosenNodeSurvivesACrash(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"before-call", "after-call", "waiting"} {
		t.Run(at, func(t *testing.T) {
			runLabWithThreeNodes(t, func(t *testing.T, l *lab) {
				l.files["dns.yaml"] = placed(dnsYAML(), "{}")
				l.push("one guest", alice)
				d := &crashingCluster{Cluster: l.cluster, op: cluster.OpCreate, at: at}
				l.opts.Cluster = d
				stop := l.start()
				eventually(l, "the crash", d.crashed.Load)
				chosen := l.journal.State().Placed[210].Node
				stop()
				_, err := l.sim.AddVM(pvesim.Guest{VMID: 150, Node: chosen, Config: "name: other\nmemory: 8192\n", Running: true})
				l.ok(err)
				l.opts.Cluster = l.cluster
				stop = l.start()
				l.converge()
				if got := l.nodeOf(210); got != chosen || l.sim.Effects(210, pvesim.Created) != 1 {
					t.Errorf("got the guest on %q, created %d times, want on %s once", got, l.sim.Effects(210, pvesim.Created), chosen)
				}
				stop()
				var choices []journal.Placed
				_, err = journal.Read(filepath.Join(l.state, "journal"), func(r journal.Record) error {
					if p, isPlaced := r.Body.(journal.Placed); isPlaced {
						choices = append(choices, p)
					}
					return nil
				})
				if l.ok(err); len(choices) != 1 {
					t.Errorf("got choices %+v in the journal, want one", choices)
				}
			})
		})
	}
}

// TestGuestThatFitsNowhereWaits does not create a guest that no node has room for, says why, and creates it when there is room.
func TestGuestThatFitsNowhereWaits(t *testing.T) {
	runLabWithThreeNodes(t, func(t *testing.T, l *lab) {
		for i, node := range []string{"pve1", "pve2", "pve3"} {
			_, err := l.sim.AddVM(pvesim.Guest{VMID: 150 + i, Node: node, Config: "name: other\nmemory: 14336\n", Running: true})
			l.ok(err)
		}
		l.files["dns.yaml"] = placed(dnsYAML("memory: {size: 4Gi}"), "{}")
		l.push("one guest", alice)
		defer l.start()()
		eventually(l, "the condition", func() bool { return l.noNode() != nil })
		c := l.noNode()
		if c.Type != plan.Blocked || !strings.Contains(c.Message, "pve2 has 2.0 GiB of memory left, and 4.0 GiB are needed") || c.Hint == "" {
			t.Errorf("got %+v, want what each node lacks", c)
		}
		l.ok(l.sim.SetRunning(151, false))
		l.converge()
		if got := l.nodeOf(210); got != "pve2" {
			t.Errorf("got the guest on %q, want pve2", got)
		}
	})
}

// noNode returns the condition of a guest for which no node was chosen, nil if there is none.
func (l *lab) noNode() *plan.Condition {
	for _, g := range l.engine.Report().Guests {
		for i := range g.Conditions {
			if g.Conditions[i].Reason == reason.Impossible {
				return &g.Conditions[i]
			}
		}
	}
	return nil
}

// TestExistingGuestsAreNotPlaced moves a guest whose node was chosen, changes what its manifest prefers, and leaves the choice for another existing guest to
// the agent. Nothing is done for any of it.
func TestExistingGuestsAreNotPlaced(t *testing.T) {
	runLabWithThreeNodes(t, func(t *testing.T, l *lab) {
		l.files["dns.yaml"], l.files["db.yaml"] = placed(dnsYAML(), "{nodes: [pve2]}"), vmYAML("db-1", 202)
		l.push("two guests", alice)
		stop := l.start()
		l.converge()
		stop()
		if got := l.nodeOf(210); got != "pve2" {
			t.Errorf("got the guest on %q, want pve2", got)
		}
		l.files["dns.yaml"], l.files["db.yaml"] = placed(dnsYAML(), "{nodes: [pve3], prefer: spread}"), placed(vmYAML("db-1", 202), "{nodes: [pve3]}")
		l.push("other nodes", alice)
		l.sim.ResetCounters()
		defer l.start()()
		l.converge()
		time.Sleep(10 * time.Minute)
		if l.nodeOf(210) != "pve2" || l.nodeOf(202) != "pve1" || l.sim.Writes() > 1 /* the floor */ {
			t.Errorf("got the guests on %s and %s after %d writes, want them on pve2 and pve1", l.nodeOf(210), l.nodeOf(202), l.sim.Writes())
		}
		for _, vmid := range []int{202, 210} {
			if g := l.guest(l.engine.Report(), vmid); g.Sync != report.Synced || len(g.Conditions) > 0 {
				t.Errorf("%d: got %+v, want it in sync without a condition", vmid, g)
			}
		}
	})
}

// TestClonesMoveToTheChosenNode creates clones, which are made on the node of their template and move before they start.
func TestClonesMoveToTheChosenNode(t *testing.T) {
	runLabWithThreeNodes(t, func(t *testing.T, l *lab) {
		for i := range 3 {
			l.files[fmt.Sprintf("web-%d.yaml", i)] = placed(vmYAML(fmt.Sprintf("web-%d", i), 201+i, "state: running", "memory: {size: 4Gi}"), "{}")
		}
		l.push("three clones", alice)
		defer l.start()()
		l.converge()
		if got := l.onNodes(); !maps.Equal(got, map[string]int{"pve1": 1, "pve2": 1, "pve3": 1}) {
			t.Errorf("got guests on %v, want one on each node", got)
		}
	})
}

// TestChoiceIsMadeAgain chooses another node for a guest whose node cannot be used before the guest was created, and forgets the choice for a guest whose
// manifest is removed.
func TestChoiceIsMadeAgain(t *testing.T) {
	runLabWithThreeNodes(t, func(t *testing.T, l *lab) {
		l.files["dns.yaml"] = placed(dnsYAML("dependsOn: [VirtualMachine/db-1]"), "{}")
		l.files["db.yaml"] = strings.Replace(vmYAML("db-1", 202), "tmpl-debian-12", "missing", 1)
		l.push("a guest that waits", alice)
		defer l.start()()
		eventually(l, "the choice", func() bool { return l.journal.State().Placed[210].Node != "" })
		first := l.journal.State().Placed[210].Node
		time.Sleep(10 * time.Minute)
		if got := l.journal.State().Placed[210].Node; got != first {
			t.Errorf("got %s after ten minutes, want %s", got, first)
		}
		l.sim.SetMaintenance(first, true)
		eventually(l, "another choice", func() bool { return l.journal.State().Placed[210].Node != first })
		delete(l.files, "dns.yaml")
		l.push("not needed", alice)
		eventually(l, "no choice", func() bool { return len(l.journal.State().Placed) == 0 })
		if slices.ContainsFunc(l.sim.Guests(), func(g pvesim.GuestInfo) bool { return g.VMID == 210 }) {
			t.Error("got the guest created, want it to wait")
		}
	})
}

// TestNoNodeIsChosenWithoutNeed journals nothing while the agent may not write, or a guest is not worked on: what the nodes have left will be different later.
func TestNoNodeIsChosenWithoutNeed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		line   string
		dryRun bool
		why    string
	}{
		"dry_run":   {"", true, "pve1 would be chosen now (least memory of 3 that fit: 1.1 GiB of 16.0 GiB are taken), but nothing may be written: started with --dry-run"},
		"observe":   {"mode: observe", false, "mode: observe"},
		"suspended": {"suspend: {reason: later}", false, "later"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithThreeNodes(t, func(t *testing.T, l *lab) {
				l.opts.DryRun = test.dryRun
				l.files["dns.yaml"] = placed(dnsYAML(test.line), "{}")
				l.push("one guest", alice)
				defer l.start()()
				eventually(l, "the condition", func() bool { return l.noNode() != nil })
				c := l.noNode()
				if !strings.Contains(c.Message, test.why) || c.Hint != "" || len(l.journal.State().Placed) > 0 {
					t.Errorf("got %+v and choices %v, want %q and none", c, l.journal.State().Placed, test.why)
				}
			})
		})
	}
}

// TestPreviewChoosesNodes plans new guests with and without a vmid: the preview shows the nodes that would be chosen now, and journals nothing.
func TestPreviewChoosesNodes(t *testing.T) {
	runLabWithThreeNodes(t, func(t *testing.T, l *lab) {
		l.files["dns.yaml"] = placed(dnsYAML(), "{nodes: [pve3]}")
		l.push("a node in the journal", alice)
		defer l.start()()
		l.converge()
		set, err := manifest.Parse([]manifest.File{
			{Path: "cluster.yaml", Data: []byte(clusterYAML)},
			{Path: "dns.yaml", Data: []byte(l.files["dns.yaml"])},
			{Path: "big.yaml", Data: []byte(strings.NewReplacer("210", "211", "dns-1", "big").Replace(placed(dnsYAML("memory: {size: 32Gi}"), "{}")))},
			{Path: "web.yaml", Data: []byte(webContainers(3, "{}"))},
		})
		l.ok(err)
		p, err := reconcile.NewPreview(t.Context(), readAll(l.cluster), set, "", l.journal.State(), guard.Minimum{}, reconcile.PreviewPolicy{})
		l.ok(err)
		got := map[string]string{}
		for _, g := range p.Plan.Guests {
			got[g.Ref.Name] = g.Node
			if len(g.Conditions) > 0 {
				got[g.Ref.Name] = string(g.Conditions[0].Reason)
			} else if g.WhyNode == "" {
				t.Errorf("%s: got no reason for %s, want one", g.Ref.Name, g.Node)
			}
		}
		want := map[string]string{"dns-1": "pve3", "big": "impossible", "web-01": "pve1", "web-02": "pve2", "web-03": "pve3"}
		if !maps.Equal(got, want) || len(l.journal.State().Placed) != 1 {
			t.Errorf("got %v and choices %v in the journal, want %v and one", got, l.journal.State().Placed, want)
		}
	})
}

// lifeOfPlacement creates a guest on a node that the agent chooses.
func lifeOfPlacement(t *testing.T, l *lab, log *eventLog) {
	l.files["dns.yaml"] = placed(dnsYAML(), "{}")
	l.push("one guest", alice)
	defer l.start()()
	l.converge()
	if got := log.of(event.GuestPlaced); len(got) != 1 || got[0].attrs["node"] != "pve1" || got[0].attrs["guest"] != "Container/dns-1" {
		t.Errorf("got %v, want one choice of pve1", got)
	}
}

// TestNodeFollowsRulesOfAffinity creates two guests whose rules keep them apart, on nodes of a strict rule, before HA manages them and the rules exist.
func TestNodeFollowsRulesOfAffinity(t *testing.T) {
	runLabWithThreeNodes(t, func(t *testing.T, l *lab) {
		l.grant("Sys.Console")
		const guests = "guests: [VirtualMachine/web-1, VirtualMachine/web-2]"
		const header = "apiVersion: proxmox.gitops/v1alpha1\nkind: AffinityRule\n"
		for i, name := range []string{"web-1", "web-2"} {
			vm := strings.Replace(vmYAML(name, 201+i, "ha: {state: ignored}"), "clone: {name: tmpl-debian-12}", "blank: {}", 1)
			l.files[name+".yaml"] = placed(vm, "{}")
		}
		l.files["apart.yaml"] = header + "metadata: {name: apart}\nspec: {type: resource, affinity: negative, " + guests + "}\n"
		l.files["fast.yaml"] = header + "metadata: {name: fast}\nspec: {type: node, nodes: [pve2, pve3], strict: true, " + guests + "}\n"
		l.push("two guests and their rules", alice)
		defer l.start()()
		l.converge()
		if one, two := l.nodeOf(201), l.nodeOf(202); one != "pve2" || two != "pve3" {
			t.Errorf("got the guests on %s and %s, want the two nodes of the rule, and not the empty pve1", one, two)
		}
		if got := l.sim.HARule("apart")["resources"]; got != "vm:201,vm:202" {
			t.Errorf("got %q in the rule, want both guests", got)
		}
		if why := l.journal.State().Placed[201].Reason; !strings.HasSuffix(why, "; with AffinityRule/apart, AffinityRule/fast") {
			t.Errorf("got the reason %q, want the rules in it", why)
		}
	})
}

// TestNodeFollowsRulesOfProxmox creates a guest under HA that a rule without a manifest keeps from two nodes. The rules are read for such a guest only, until it exists.
func TestNodeFollowsRulesOfProxmox(t *testing.T) {
	runLabWithThreeNodes(t, func(t *testing.T, l *lab) {
		l.grant("Sys.Console")
		rulesRead := func() int { return l.sim.Counters().Routes["GET /cluster/ha/rules"] }
		l.sim.SetHARule("people", map[string]string{"type": "node-affinity", "nodes": "pve3", "strict": "1", "resources": "vm:202"})
		blank := func(manifest string) string {
			return strings.Replace(manifest, "clone: {name: tmpl-debian-12}", "blank: {}", 1)
		}
		l.files["web-1.yaml"] = placed(blank(vmYAML("web-1", 201)), "{}")
		l.push("a guest without HA", alice)
		defer l.start()()
		l.converge()
		if n := rulesRead(); n != 0 || l.nodeOf(201) == "" {
			t.Errorf("got %d readings of rules for a guest without HA on %q, want none", n, l.nodeOf(201))
		}
		l.files["web-2.yaml"] = placed(blank(vmYAML("web-2", 202, "ha: {state: ignored}")), "{}")
		l.push("a guest with HA", alice)
		l.converge()
		if node, n := l.nodeOf(202), rulesRead(); node != "pve3" || n == 0 {
			t.Errorf("got the guest on %s after %d readings of rules, want it where the rule wants it", node, n)
		}
		l.sim.ResetCounters()
		time.Sleep(10 * time.Minute)
		if n := rulesRead(); n != 0 {
			t.Errorf("got %d readings of rules after the guest exists, want none", n)
		}
	})
}
