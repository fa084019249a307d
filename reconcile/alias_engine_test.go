package reconcile_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

const officeAlias = "apiVersion: proxmox.gitops/v1alpha1\nkind: Alias\nmetadata: {name: office}\nspec: {cidr: 10.1.0.0/24, lifecycle: {destroy: allow}}\n"

// TestAliasIsThereBeforeItsRulesAndStaysAfterThem makes a guest whose rule names an alias of the same commit. Removing both, the rule goes first.
func TestAliasIsThereBeforeItsRulesAndStaysAfterThem(t *testing.T) {
	walled := vmYAML("web-1", 201, "firewall:", "  enable: true", "  rules: [{type: in, action: ACCEPT, source: dc/office}]")
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify")
		l.files["web.yaml"], l.files["office.yaml"] = walled, officeAlias
		l.push("a guest and its alias", alice)
		defer l.start()()
		l.converge()
		if got := l.rules(); got != "in ACCEPT from dc/office" || l.sim.Alias("office") == nil {
			t.Fatalf("got the rules %s and the alias %v", got, l.sim.Alias("office"))
		}
		if routes := l.sim.Counters().Routes; routes["POST "+strings.ReplaceAll(firewallPath, "201", "{vmid}")+"/rules"] > 1 {
			t.Errorf("got a rule refused: %v", routes)
		}
		delete(l.files, "office.yaml")
		l.push("remove the alias only", alice)
		eventually(t, "the condition", func() bool { return l.objectHasReason(objectCase{label: "Alias/office"}, reason.InUse) })
		time.Sleep(5 * time.Minute)
		if l.sim.Alias("office") == nil {
			t.Fatal("got the alias removed while a rule names it")
		}
		l.files["web.yaml"] = strings.Replace(walled, "source: dc/office", "macro: SSH", 1)
		l.push("remove the rule", alice)
		eventually(t, "the removal", func() bool { return l.sim.Alias("office") == nil })
		l.converge()
	})
}

// TestAliasOfAForeignRuleStays removes the manifest of an alias that a guest without a manifest uses, of which the plan knows nothing.
func TestAliasOfAForeignRuleStays(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.rareTicks()
		l.grant("Sys.Modify")
		_, err := l.sim.AddVM(pvesim.Guest{VMID: 300, Config: "name: other\nmemory: 512\n"})
		l.ok(err)
		l.files["web.yaml"], l.files["office.yaml"] = vmYAML("web-1", 201), officeAlias
		l.push("an alias", alice)
		defer l.start()()
		l.converge()
		const rules = "/nodes/pve1/qemu/300/firewall/rules"
		l.edit(http.MethodPost, rules, "type=in&action=DROP&enable=1&source=dc/office")
		delete(l.files, "office.yaml")
		l.push("remove it", alice)
		time.Sleep(10 * time.Minute)
		if l.sim.Alias("office") == nil {
			t.Fatal("got the alias removed while a rule names it")
		}
		eventually(t, "the reason", func() bool {
			return slices.ContainsFunc(l.object("Alias/office").Conditions, func(c plan.Condition) bool { return strings.Contains(c.Message, "rule 0 of guest 300 names it") })
		})
		if c := l.object("Alias/office").Conditions; slices.ContainsFunc(c, func(c plan.Condition) bool { return c.Type == plan.Failed }) || !l.objectHasReason(objectCase{label: "Alias/office"}, reason.InUse) {
			t.Errorf("got %+v, want it blocked and not failed", c)
		}
		l.sim.ResetCounters()
		time.Sleep(24 * time.Hour)
		if n := l.sim.Counters().Routes["GET /nodes/{node}/{kind}/{vmid}/firewall/rules"]; n > 48+3 {
			t.Errorf("got %d readings of the rules of guests in a day, want those of the known user every half an hour", n)
		}
		l.edit(http.MethodDelete, rules+"/0", "")
		time.Sleep(40 * time.Minute)
		if l.sim.Alias("office") != nil {
			t.Error("got the alias kept without a user, want it removed")
		}
	})
}

// TestUsedAliasIsTriedAgainAfterAStep removes the manifest of an alias that a guest without a manifest uses. A step of the agent may have ended the use, so the agent
// looks again after one.
func TestUsedAliasIsTriedAgainAfterAStep(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify")
		_, err := l.sim.AddVM(pvesim.Guest{VMID: 300, Config: "name: other\nmemory: 512\n"})
		l.ok(err)
		l.files["web.yaml"], l.files["office.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}"), officeAlias
		l.push("an alias", alice)
		defer l.start()()
		l.converge()
		const rules = "/nodes/pve1/qemu/300/firewall/rules"
		l.edit(http.MethodPost, rules, "type=in&action=DROP&enable=1&source=dc/office")
		delete(l.files, "office.yaml")
		l.push("remove it", alice)
		time.Sleep(2 * time.Minute)
		l.edit(http.MethodDelete, rules+"/0", "")
		l.ok(l.sim.Edit(201, "memory", "4096"))
		time.Sleep(5 * time.Minute)
		if l.sim.Alias("office") != nil {
			t.Error("got the alias kept after a step on a guest, want it removed")
		}
	})
}
