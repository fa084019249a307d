package gate

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
)

// approvedBy adds approvals of a step, by different people.
func approvedBy(g *Gate, step plan.Step, people ...string) {
	digest := step.Digest(g.Cluster, "identity")
	for _, p := range people {
		g.Approvals[digest] = append(g.Approvals[digest], Approval{Key: p + digest, Person: p, Proven: g.Now})
	}
}

// TestProtectedSteps: a step against which the protection stands needs as many approvals as the destruction of its guest, and at least one. Only an approval that
// names the protection counts. Without the protection, it counts as well.
func TestProtectedSteps(t *testing.T) {
	t.Parallel()
	_, d := policyWorld()
	step := func(op cluster.Op, class guest.Class, keys ...string) plan.Step {
		s := plan.Step{Guest: d.Ref, Op: op, Class: class, Protected: true, Calls: []cluster.Call{{Op: op, VMID: 201, Delete: keys}}}
		for _, key := range keys {
			s.Changes = append(s.Changes, guest.Change{Key: key, Class: class})
		}
		return s
	}
	rollback := step(cluster.OpRollback, guest.Destructive)
	rollback.Order = &order.Open{Request: order.Request{Op: cluster.OpRollback, Guest: d.Ref}, Order: journal.Order{Ordered: journal.Ordered{Key: "key"}}}
	mount := step(cluster.OpConfig, guest.Live, "mp0")
	bare := mount
	bare.Protected = false
	lower := step(cluster.OpConfig, guest.Disruptive, "protection")
	destroy := step(cluster.OpDestroy, guest.Destructive)
	unprotected := destroy
	unprotected.Protected = false
	twoForDestroy := policy.Rule{Name: "rule", On: policy.OnStep, When: `old.memory == 2048 * 1024 * 1024`, Operations: []string{"destroy"}, Result: policy.RequireApproval, Approvals: 2}
	allowed := func(g *Gate) { g.Remembered[201] = journal.Guarded{VMID: 201, Destroy: "allow"} }
	tests := map[string]struct {
		step  plan.Step
		with  func(*Gate)
		rule  *policy.Rule
		want  string // of the message; "" if it is released
		spent int
	}{
		"destroy_allowed":           {step: unprotected, with: allowed},
		"destroy_allowed_protected": {step: destroy, with: allowed, want: protectedText + ": 0 of 1 approvals"},
		"destroy_approved":          {step: destroy, with: func(g *Gate) { allowed(g); approvedBy(g, destroy, "olga") }, spent: 1},
		"protection_is_not_named":   {step: destroy, with: func(g *Gate) { approvedBy(g, unprotected, "olga") }, want: ": 0 of 1 approvals"},
		"protection_was_taken_away": {step: unprotected, with: func(g *Gate) { approvedBy(g, destroy, "olga") }, spent: 1},
		"both_digests_of_one_person": {step: unprotected, with: func(g *Gate) {
			g.RequiredApprovals = 2
			approvedBy(g, destroy, "olga")
			approvedBy(g, unprotected, "olga")
		}, want: "1 of 2 approvals"},
		"both_digests_of_two_people": {step: unprotected, with: func(g *Gate) {
			g.RequiredApprovals = 2
			approvedBy(g, destroy, "olga")
			approvedBy(g, unprotected, "otto")
		}, spent: 2},
		"live_write":                   {step: mount, want: protectedText},
		"live_write_without":           {step: bare},
		"live_write_approved":          {step: mount, with: func(g *Gate) { approvedBy(g, mount, "olga") }, spent: 1},
		"write_needs_those_of_destroy": {step: mount, rule: &twoForDestroy, with: func(g *Gate) { approvedBy(g, mount, "olga") }, want: "1 of 2 approvals"},
		"write_has_those_of_destroy":   {step: mount, rule: &twoForDestroy, with: func(g *Gate) { approvedBy(g, mount, "olga", "otto") }, spent: 2},
		"cluster_needs_three":          {step: mount, rule: &twoForDestroy, with: func(g *Gate) { g.RequiredApprovals = 3; approvedBy(g, mount, "olga", "otto") }, want: "2 of 3 approvals"},
		"template":                     {step: step(cluster.OpTemplate, guest.Disruptive, "template"), want: protectedText},
		"template_of_a_fresh_clone":    {step: step(cluster.OpTemplate, guest.Live, "template"), want: protectedText},
		"rollback":                     {step: rollback, rule: &twoForDestroy, with: func(g *Gate) { approvedBy(g, rollback, "olga") }, want: protectedText + ": 1 of 2 approvals"},
		"lower":                        {step: lower, want: protectedText},
		"lower_needs_those_of_destroy": {step: lower, rule: &twoForDestroy, with: func(g *Gate) { approvedBy(g, lower, "olga") }, want: "1 of 2 approvals"},
		"lower_after_the_weakening": {step: lower, rule: &twoForDestroy, with: func(g *Gate) {
			g.Remembered[201] = journal.Guarded{VMID: 201, Rules: journal.GuardRules{Protection: "off", ProtectionLifted: true}}
		}},
		"write_after_the_weakening": {step: mount, with: func(g *Gate) {
			g.Remembered[201] = journal.Guarded{VMID: 201, Rules: journal.GuardRules{Protection: "off", ProtectionLifted: true}}
		}, want: protectedText},
	}
	for name, test := range tests {
		g, d := policyWorld()
		if test.rule != nil {
			g.Rules = rulesOf(t, []guest.Desired{d}, *test.rule)
		}
		if test.with != nil {
			test.with(&g)
		}
		v := g.Judge(test.step)
		if v.Held != (test.want != "") || !strings.Contains(v.Message, test.want) || len(v.ApprovalKeys) != test.spent {
			t.Errorf("%s: got %+v, want %q and %d approvals spent", name, v, test.want, test.spent)
		}
		if v.Digest != "" && v.Digest != test.step.Digest("home", "identity") {
			t.Errorf("%s: got digest %s, want that of the step", name, v.Digest)
		}
	}
}

// TestWeakeningOfTheProtection: the approvals that put protection: off into force also end the flag, so they are as many as a destruction needs.
func TestWeakeningOfTheProtection(t *testing.T) {
	t.Parallel()
	rule := policy.Rule{Name: "rule", On: policy.OnStep, When: "true", Operations: []string{"destroy"}, Result: policy.RequireApproval, Approvals: 2}
	for field, want := range map[guest.GuardField]string{guest.GuardProtection: "0 of 2 approvals", guest.GuardSuspend: "0 of 1 approvals"} {
		g, d := policyWorld()
		g.Rules = rulesOf(t, []guest.Desired{d}, rule)
		w := guard.Weakening{Field: field, Old: "on", New: "off", Digest: "digest", Guests: []guard.Object{{Ref: d.Ref}}}
		if v := g.Judge(plan.WeakeningStep(d.Ref, &w)); !v.Held || !strings.Contains(v.Message, want) {
			t.Errorf("%s: got %+v, want %q", field, v, want)
		}
	}
}

// TestApprovalsOfOtherStepsStay: looking for approvals that name a protection changes none of them.
func TestApprovalsOfOtherStepsStay(t *testing.T) {
	t.Parallel()
	g, d := policyWorld()
	step := plan.Step{Guest: d.Ref, Op: cluster.OpDestroy, Class: guest.Destructive, Calls: []cluster.Call{{Op: cluster.OpDestroy, VMID: 201}}}
	protected := step
	protected.Protected = true
	approvedBy(&g, protected, "olga")
	approvedBy(&g, step, "otto")
	before := slices.Clone(g.Approvals[step.Digest("home", "identity")])
	for range 2 {
		if v := g.Judge(step); v.Held || len(v.ApprovalKeys) != 2 {
			t.Errorf("got %+v, want it released by both", v)
		}
	}
	if got := g.Approvals[step.Digest("home", "identity")]; !reflect.DeepEqual(got, before) || len(g.Approvals) != 2 {
		t.Errorf("got approvals %+v, want them unchanged", g.Approvals)
	}
}
