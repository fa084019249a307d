package lane

import (
	"errors"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
)

// TestCheckPolicies judges a released step again immediately before its call: by the time, by the reading, and by the approvals that it has.
func TestCheckPolicies(t *testing.T) {
	t.Parallel()
	d := guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}}
	seen := guest.Observed{Ref: d.Ref, Digest: "d", Keys: map[string]guest.Value{"tags": {Text: "protected", Set: true}}}
	step := plan.Step{Guest: d.Ref, Op: cluster.OpReboot, Class: guest.Disruptive, Calls: []cluster.Call{{Op: cluster.OpReboot}}}
	friday := time.Date(2026, 3, 6, 0, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		rule    policy.Rule
		now     time.Time
		verdict gate.Verdict
		held    bool
	}{
		"before_friday":     {rule: policy.Rule{When: "now.getDayOfWeek() == 5"}, now: friday.Add(-time.Second)},
		"friday_has_begun":  {rule: policy.Rule{When: "now.getDayOfWeek() == 5"}, now: friday, held: true},
		"reading":           {rule: policy.Rule{When: `"protected" in old.tags`}, now: friday, held: true},
		"warned":            {rule: policy.Rule{When: "true", Result: policy.Warn}, now: friday},
		"fails":             {rule: policy.Rule{When: `new.labels.x == ""`, Result: policy.Warn}, now: friday, held: true},
		"approved":          {rule: policy.Rule{When: "true", Result: policy.RequireApproval, Approvals: 2}, now: friday, verdict: gate.Verdict{Required: 2}},
		"fewer_approvals":   {rule: policy.Rule{When: "true", Result: policy.RequireApproval, Approvals: 2}, now: friday, verdict: gate.Verdict{Required: 1}, held: true},
		"no_longer_covered": {rule: policy.Rule{When: "false", Result: policy.RequireApproval}, now: friday},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule := test.rule
			rule.Name, rule.Message, rule.On = "rule", "told", policy.OnStep
			set, problems := policy.Compile([]policy.Rule{rule})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			b := &Basis{Cluster: "home", Rules: gate.NewRules(set, []guest.Desired{d}, nil)}
			if err := b.checkPolicies(journal.State{}, test.now, step, test.verdict, seen); errors.Is(err, errPolicy) != test.held {
				t.Errorf("got %v, want held %t", err, test.held)
			}
		})
	}
	if err := (&Basis{}).checkPolicies(journal.State{}, friday, step, gate.Verdict{}, seen); err != nil {
		t.Errorf("got %v without policies", err)
	}
}
