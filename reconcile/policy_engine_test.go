package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile"
	"gitops-agent/reconcile/policy"
	"gitops-agent/reconcile/reason"
)

// withRules gives policies to the engine.
func withRules(t *testing.T, rules ...policy.Rule) labOption {
	t.Helper()
	for i := range rules {
		rules[i].Message = "told"
	}
	set, problems := policy.Compile(rules)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return func(o *reconcile.Options) { o.Rules = set }
}

// TestPolicyHoldsOneGuest denies the memory of one guest. Its revision is accepted, the other guest of the revision is created, and a corrected manifest
// is applied without further help. A warning holds nothing.
func TestPolicyHoldsOneGuest(t *testing.T) {
	rules := withRules(t,
		policy.Rule{Name: "memory", When: "new.memory > 4 * 1024 * 1024 * 1024"},
		policy.Rule{Name: "cores", When: "new.cpu.cores == 1", Result: policy.Warn},
		policy.Rule{Name: "alice", When: `!("alice@lab.test" in new.signers["memory"])`})
	runLab(t, []labOption{rules}, func(t *testing.T, l *lab) {
		l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201, "memory: {size: 8Gi}"), vmYAML("db-1", 202, "memory: {size: 2Gi}", "cpu: {cores: 2}")
		l.push("two guests", alice)
		defer l.start()()
		l.waitForHold(201, reason.Policy)
		l.waitForCondition(201, "Held policy", "create: policy memory denies it: told")
		eventually(l, "the other guest", func() bool { return l.sim.Value(202, "memory") == "2048" })
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 4Gi}")
		l.push("less memory", alice)
		l.converge()
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 16Gi}", "cpu: {cores: 1}")
		l.push("more memory again", alice)
		l.waitForHold(201, reason.Policy)
		l.waitForCondition(201, "Warned policy", "policy cores warns: told")
		if got := l.sim.Value(201, "memory"); got != "4096" {
			t.Errorf("got memory %s, want 4096", got)
		}
	})
}

// TestPolicyRequiresApprovals creates a guest after one approval, which outlives the choice of its identity, and destroys it after two, although the
// manifest allows it without one.
func TestPolicyRequiresApprovals(t *testing.T) {
	rules := withRules(t,
		policy.Rule{Name: "create", On: policy.OnStep, Operations: []string{"create"}, When: `new.name == "web-1"`, Result: policy.RequireApproval},
		policy.Rule{Name: "destroy", On: policy.OnStep, Operations: []string{"destroy"}, When: `"web" in old.tags`, Result: policy.RequireApproval, Approvals: 2})
	runLab(t, []labOption{rules}, func(t *testing.T, l *lab) {
		l.trustApprovers()
		l.files["web.yaml"], l.files["db.yaml"] = vmYAML("web-1", 201, "tags: [web]", "lifecycle: {destroy: allow}"), vmYAML("db-1", 202)
		l.push("two guests", alice)
		defer l.start()()
		l.waitForHold(201, reason.Policy)
		l.push(approve(l.heldStep(201).Digest), olga)
		l.converge()
		delete(l.files, "web.yaml")
		l.push("one guest", alice)
		l.waitForHold(201, reason.Policy)
		held := l.heldStep(201)
		if !strings.Contains(held.Message, "policy destroy requires an approval: told: 0 of 2 approvals") || len(held.Policies) != 1 {
			t.Errorf("got %+v", held)
		}
		l.push(approve(held.Digest), olga)
		l.waitForCondition(201, "1 of 2 approvals")
		l.push(approve(held.Digest), pia)
		eventually(l, "the destroy", func() bool { return l.destroyed(201) })
		l.converge()
	})
}

// TestPolicyOfTheTime holds a step until a time has come.
func TestPolicyOfTheTime(t *testing.T) {
	rules := withRules(t, policy.Rule{Name: "later", On: policy.OnStep, When: `step.op == "config" && now < timestamp("2000-01-01T06:00:00Z") && step.changes.exists(c, c.key == "memory")`})
	runLab(t, []labOption{rules}, func(t *testing.T, l *lab) {
		l.rareTicks()
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("memory", alice)
		l.waitForHold(201, reason.Policy)
		time.Sleep(6 * time.Hour)
		l.converge()
	})
}
