package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
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
		eventually(t, "the condition", func() bool { return l.objectHasReason(rule, plan.ReasonNotInHA) })
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
		eventually(t, "the refusal", func() bool { return l.objectHasReason(rule, plan.ReasonImpossible) })
		resources("vm:201,vm:202")
	})
}

// TestAffinityRuleOnAnOldRelease reports why rules cannot be read on Proxmox VE 8, and manages guests as before.
func TestAffinityRuleOnAnOldRelease(t *testing.T) {
	runLabWithWire(t, pvesim.Options{Version: "8.4.1"}, func(t *testing.T, l *lab, _ *wire) {
		l.files["a.yaml"], l.files["b.yaml"], l.files["rule.yaml"] = vmYAML("web-1", 201), vmYAML("web-2", 202), apartYAML
		l.push("a rule", alice)
		defer l.start()()
		eventually(t, "the reason", func() bool {
			g := l.object("AffinityRule/apart")
			return len(g.Conditions) > 0 && strings.Contains(g.Conditions[0].Message, "need Proxmox VE 9")
		})
		eventually(t, "the guest", func() bool { return l.sim.Config(201) != "" })
	})
}
