package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/reason"
)

const apartYAML = "apiVersion: proxmox.gitops/v1alpha1\nkind: AffinityRule\nmetadata: {name: apart}\nspec:\n  type: resource\n  affinity: positive\n" +
	"  guests: [VirtualMachine/web-1, VirtualMachine/web-2]\n"

// TestAffinityRuleWaitsForHA names guests by label. The rule is made after HA manages both, follows a vmid that Proxmox took out, and waits again without HA.
func TestAffinityRuleWaitsForHA(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		rule := objectCase{label: "AffinityRule/apart"}
		l.grant("Sys.Console")
		ha := "ha: {state: ignored}"
		l.files["a.yaml"], l.files["b.yaml"], l.files["rule.yaml"] = vmYAML("web-1", 201, ha), vmYAML("web-2", 202), apartYAML
		l.push("a rule", alice)
		defer l.start()()
		eventually(t, "the condition", func() bool { return l.objectHasReason(rule, reason.Awaits) })
		time.Sleep(3 * time.Minute)
		if l.sim.HARule("apart") != nil {
			t.Fatal("got the rule before HA manages both guests")
		}
		l.files["b.yaml"] = vmYAML("web-2", 202, ha)
		l.push("both under HA", alice)
		resources := func(want string) {
			t.Helper()
			eventually(t, "the guests "+want, func() bool { return l.sim.HARule("apart")["resources"] == want })
		}
		resources("vm:201,vm:202")
		l.converge()
		l.sim.ResetCounters()
		time.Sleep(10 * time.Minute)
		if writes := l.sim.Counters().Writes; writes != 0 {
			t.Errorf("got %d writes of a converged cluster, want none", writes)
		}

		l.files["rule.yaml"] = strings.Replace(apartYAML, "type: resource\n  affinity: positive", "type: node\n  nodes: [pve1]", 1)
		l.push("another type", alice)
		eventually(t, "the refusal", func() bool { return l.objectHasReason(rule, reason.Impossible) })
		resources("vm:201,vm:202")
	})
}

// TestAffinityRuleOnAnOldRelease reports that Proxmox VE 8 has no rules about guests, and manages guests as before.
func TestAffinityRuleOnAnOldRelease(t *testing.T) {
	runLabOn(t, pvesim.Options{Version: "8.4.1"}, func(t *testing.T, l *lab) {
		l.grant("Sys.Console")
		ha := "ha: {state: ignored}"
		l.files["a.yaml"], l.files["b.yaml"], l.files["rule.yaml"] = vmYAML("web-1", 201, ha), vmYAML("web-2", 202, ha), apartYAML
		l.push("a rule", alice)
		defer l.start()()
		eventually(t, "the reason", func() bool {
			g := l.object("AffinityRule/apart")
			return len(g.Conditions) > 0 && strings.Contains(g.Conditions[0].Message, "no rules about guests")
		})
		eventually(t, "the guest", func() bool { return l.sim.Config(201) != "" })
	})
}

// TestAffinityRuleIsAGroup manages a rule about nodes as a group of Proxmox VE 8, repairs what a person changes, follows the group through the upgrade to
// Proxmox VE 9, and removes the rule that Proxmox made of it.
func TestAffinityRuleIsAGroup(t *testing.T) {
	runLabOn(t, pvesim.Options{Version: "8.4.14", Nodes: []string{"pve1", "pve2"}}, func(t *testing.T, l *lab) {
		rule := objectCase{label: "AffinityRule/web"}
		l.grant("Sys.Console")
		ha := "ha: {state: ignored}"
		l.files["a.yaml"], l.files["b.yaml"] = vmYAML("web-1", 201, ha), vmYAML("web-2", 202, ha)
		nodeRule := func(nodes, guests string) string {
			return "apiVersion: proxmox.gitops/v1alpha1\nkind: AffinityRule\nmetadata: {name: web}\nspec:\n  type: node\n  strict: true\n  nodes: [" + nodes + "]\n  guests: [" + guests + "]\n"
		}
		const both = "VirtualMachine/web-1, VirtualMachine/web-2"
		l.files["rule.yaml"] = nodeRule("pve1:2, pve2", both)
		l.push("a rule", alice)
		defer l.start()()
		group := func(nodes, members string) {
			t.Helper()
			eventually(t, "the group with "+nodes+" and "+members, func() bool {
				g, got := l.sim.HAGroup("web")
				return g["nodes"] == nodes && g["restricted"] == "1" && got == members
			})
		}
		quiet := func() {
			t.Helper()
			l.converge()
			l.sim.ResetCounters()
			time.Sleep(10 * time.Minute)
			if writes := l.sim.Counters().Writes; writes != 0 {
				t.Errorf("got %d writes of a converged cluster, want none", writes)
			}
		}
		group("pve1:2,pve2", "vm:201,vm:202")
		quiet()

		l.files["rule.yaml"] = nodeRule("pve2", "VirtualMachine/web-2")
		l.push("other nodes, one guest", alice)
		group("pve2", "vm:202")

		l.files["other.yaml"] = strings.NewReplacer("{name: web}", "{name: other}").Replace(nodeRule("pve1", both))
		l.push("a second rule for one of the guests", alice)
		other := objectCase{label: "AffinityRule/other"}
		eventually(t, "the refusal", func() bool { return l.objectHasReason(other, reason.Impossible) })
		delete(l.files, "other.yaml")
		l.files["rule.yaml"] = nodeRule("pve1:2, pve2", both)
		l.push("both again", alice)
		group("pve1:2,pve2", "vm:201,vm:202")
		l.sim.SetGroupOfResource(201, "")
		group("pve1:2,pve2", "vm:201,vm:202")

		l.sim.Upgrade("9.2.11")
		quiet() // Proxmox shows the rule that it will make, and refuses changes
		l.sim.MigrateGroups()
		quiet()
		if l.sim.HARule("web") != nil || l.sim.HARule("ha-group-web") == nil {
			t.Fatal("got a second rule beside the one that Proxmox made of the group, or none")
		}
		l.files["rule.yaml"] = nodeRule("pve1", both)
		l.push("other nodes", alice)
		eventually(t, "the nodes", func() bool { return l.sim.HARule("ha-group-web")["nodes"] == "pve1" })
		quiet()
		delete(l.files, "rule.yaml")
		l.push("no rule", alice)
		eventually(t, "the hold", func() bool { return l.objectHasReason(rule, reason.Approval) })
		l.approve(l.object(rule.label).Held[0].Digest)
		eventually(t, "the removal", func() bool { return l.sim.HARule("ha-group-web") == nil })
	})
}

// TestCrashAtEveryMemberCall crashes the agent before and after the call that gives a guest its group on Proxmox VE 8, and after that which takes one out of the
// group in its removal. Each has one effect.
func TestCrashAtEveryMemberCall(t *testing.T) {
	t.Parallel()
	c := objectCases["group_of_release_8"]
	for name, call := range map[string]struct {
		op      cluster.Op
		prepare func(l *lab)
	}{
		"put_in":    {cluster.OpObjectSet, func(l *lab) { l.sim.SetGroupOfResource(300, "") }},
		"taken_out": {cluster.OpObjectRemove, func(l *lab) { delete(l.files, "object.yaml") }},
	} {
		for _, at := range []string{"before-call", "after-call"} {
			t.Run(name+"/"+at, func(t *testing.T) {
				runLabOn(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}, Version: c.release}, func(t *testing.T, l *lab) {
					l.grant(c.needs...)
					c.around(t, l.sim)
					l.files["web.yaml"], l.files["object.yaml"] = vmYAML("web-1", 201), c.manifest("lifecycle: {destroy: allow}")
					l.crashAndRecover(call.op, at, func(l *lab) {
						call.prepare(l)
						l.push(name, alice)
					})
					group, members := l.sim.HAGroup("web")
					if removed := name == "taken_out"; removed != (group == nil) || !removed && members != "vm:300" {
						t.Errorf("got the group %v with %q", group, members)
					}
					if n := l.sim.Counters().Objects["/cluster/ha/resources/vm:300"]["PUT"]; n != 1 {
						t.Errorf("got %d effects on the guest, want 1: %v", n, l.sim.Counters().Objects)
					}
				})
			})
		}
	}
}

// TestRulesExchangeGuests moves guests between two rules about nodes in one commit: each first gives away what it no longer wants. Rules that would be empty
// in between are reported, and the group of Proxmox VE 8 may be empty.
func TestRulesExchangeGuests(t *testing.T) {
	t.Parallel()
	rule := func(name, node string, guests ...string) string {
		return "apiVersion: proxmox.gitops/v1alpha1\nkind: AffinityRule\nmetadata: {name: " + name + "}\nspec:\n  type: node\n  nodes: [" + node + "]\n  guests: [" + strings.Join(guests, ", ") + "]\n"
	}
	for name, test := range map[string]struct {
		release        string
		first, second  []string // guests of the rules before
		after1, after2 []string
		impossible     bool
	}{
		"rules":           {"", []string{"vm:301", "vm:302"}, []string{"vm:303", "vm:304"}, []string{"vm:301", "vm:303"}, []string{"vm:302", "vm:304"}, false},
		"rules_wholly":    {"", []string{"vm:301"}, []string{"vm:302"}, []string{"vm:302"}, []string{"vm:301"}, true},
		"groups_wholly":   {"8.4.14", []string{"vm:301"}, []string{"vm:302"}, []string{"vm:302"}, []string{"vm:301"}, false},
		"one_way":         {"", []string{"vm:301", "vm:302"}, []string{"vm:303"}, []string{"vm:301"}, []string{"vm:302", "vm:303"}, false},
		"one_way_groups":  {"8.4.14", []string{"vm:301", "vm:302"}, []string{"vm:303"}, []string{"vm:301"}, []string{"vm:302", "vm:303"}, false},
		"becomes_another": {"", []string{"vm:301", "vm:302", "vm:303"}, []string{"vm:304"}, []string{"vm:304", "vm:301"}, []string{"vm:302", "vm:303"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			runLabOn(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}, Version: test.release}, func(t *testing.T, l *lab) {
				l.grant("Sys.Console")
				for vmid := 301; vmid <= 304; vmid++ {
					if _, err := l.sim.AddVM(pvesim.Guest{VMID: vmid}); err != nil {
						t.Fatal(err)
					}
					l.ok(l.sim.ManageByHA(vmid))
				}
				l.files["web.yaml"] = vmYAML("web-1", 201)
				l.files["r1.yaml"], l.files["r2.yaml"] = rule("one", "pve1", test.first...), rule("two", "pve2", test.second...)
				l.push("two rules", alice)
				defer l.start()()
				l.converge()
				l.files["r1.yaml"], l.files["r2.yaml"] = rule("one", "pve1", test.after1...), rule("two", "pve2", test.after2...)
				l.sim.ResetCounters()
				l.push("exchange", alice)
				if test.impossible {
					eventually(t, "the reason", func() bool {
						return l.objectHasReason(objectCase{label: "AffinityRule/one"}, reason.Impossible) && l.objectHasReason(objectCase{label: "AffinityRule/two"}, reason.Impossible)
					})
					time.Sleep(time.Hour)
					if n := l.sim.Counters().Routes["PUT /cluster/ha/rules/{rule}"]; n != 0 {
						t.Errorf("got %d changes of rules, want none that Proxmox would refuse", n)
					}
					return
				}
				l.converge()
				guests := func(name string) string {
					if test.release != "" {
						_, members := l.sim.HAGroup(name)
						return members
					}
					return l.sim.HARule(name)["resources"]
				}
				slices.Sort(test.after1)
				if got := []string{guests("one"), guests("two")}; !slices.Equal(got, []string{strings.Join(test.after1, ","), strings.Join(test.after2, ",")}) {
					t.Errorf("got the guests %v, want %v and %v", got, test.after1, test.after2)
				}
			})
		})
	}
}

// TestDamagedCommentIsNotWritten adopts a rule whose comment Proxmox returns damaged. The marker would be written with the damaged text, so the manifest has to name a comment.
func TestDamagedCommentIsNotWritten(t *testing.T) {
	runLabOn(t, pvesim.Options{}, func(t *testing.T, l *lab) {
		rule := objectCase{label: "AffinityRule/web"}
		l.grant("Sys.Console")
		addManagedVM(t, l.sim)
		l.sim.SetHARule("web", map[string]string{"type": "node-affinity", "resources": "vm:300", "nodes": "pve1", "comment": "für uns"})
		manifest := "apiVersion: proxmox.gitops/v1alpha1\nkind: AffinityRule\nmetadata: {name: web}\nspec:\n  adopt: ifUnmanaged\n  type: node\n  nodes: [pve1]\n  guests: [vm:300]\n"
		l.files["web.yaml"], l.files["rule.yaml"] = vmYAML("web-1", 201), manifest
		l.push("adopt it", alice)
		defer l.start()()
		eventually(t, "the reason", func() bool { return l.objectHasReason(rule, reason.Impossible) })
		time.Sleep(10 * time.Minute)
		if got := l.sim.HARule("web")["comment"]; got != "für uns" {
			t.Errorf("got the comment %q, want it left alone", got)
		}
		l.files["rule.yaml"] = manifest + "  comment: for us\n"
		l.push("with a comment", alice)
		l.converge()
		if got, _ := withoutMarker(l.sim.HARule("web")["comment"], true); got != "for us" {
			t.Errorf("got the comment %q, want that of the manifest", got)
		}
	})
}
