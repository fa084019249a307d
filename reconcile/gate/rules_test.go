package gate

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
	"gitops-agent/reconcile/reason"
)

func rulesOf(t *testing.T, guests []guest.Desired, rules ...policy.Rule) *Rules {
	t.Helper()
	for i := range rules {
		rules[i].Message = "told"
	}
	set, problems := policy.Compile(rules)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return NewRules(set, guests, nil)
}

// policyWorld is a gate with one machine that has one NIC, introduced by wanda.
func policyWorld() (Gate, guest.Desired) {
	d := guest.Desired{
		Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Labels: map[string]string{"stage": "prod"}, Lifecycle: guest.Lifecycle{Destroy: guest.Approve},
		Intents: []guest.Intent{{Key: "net0", Verb: guest.Want, Sub: map[string]string{"bridge": "vmbr1"}}},
	}
	by := []journal.Introduction{{Signer: "wanda", Fields: []string{journal.AllFields}}}
	return Gate{
		Cluster: "home", Now: time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC), NamedGuests: 1, MaxDestroy: 3, RequiredApprovals: 1, Approvals: Approvals{},
		Owned: map[int]journal.Owned{201: {VMID: 201, Identity: "identity"}}, Remembered: map[int]journal.Guarded{},
		Seen:  map[int]guest.Observed{201: {Ref: d.Ref, Digest: "one", Status: guest.StatusRunning, Keys: map[string]guest.Value{"memory": {Text: "2048", Set: true}, "tags": {Text: "protected", Set: true}}}},
		Scope: Scope{Introduced: map[journal.Label]journal.Introduced{{Kind: "VirtualMachine", Name: "web-1"}: {By: by}}},
	}, d
}

// TestJudgePolicies judges steps with policies.
func TestJudgePolicies(t *testing.T) {
	t.Parallel()
	_, d := policyWorld()
	config := plan.Step{Guest: d.Ref, Op: cluster.OpConfig, Class: guest.Live, Changes: []guest.Change{{Key: "net0"}}, Calls: []cluster.Call{{Op: cluster.OpConfig, Params: map[string]string{"net0": "x"}}}}
	shutdown := plan.Step{Guest: d.Ref, Op: cluster.OpShutdown, Class: guest.Disruptive, Calls: []cluster.Call{{Op: cluster.OpShutdown}}}
	create := plan.Step{Guest: d.Ref, Op: cluster.OpCreate, Class: guest.Live, TakesOwnership: true, Calls: []cluster.Call{{Op: cluster.OpCreate}}}
	destroy := plan.Step{Guest: d.Ref, Op: cluster.OpDestroy, Class: guest.Destructive, Calls: []cluster.Call{{Op: cluster.OpDestroy, VMID: 201}}}
	reboot := plan.Step{Guest: d.Ref, Op: cluster.OpReboot, Class: guest.Disruptive, Order: &order.Open{Request: order.Request{Op: cluster.OpReboot, Guest: d.Ref}}, Calls: []cluster.Call{{Op: cluster.OpReboot}}}
	adopt := config
	adopt.TakesOwnership = true
	unnumbered := create
	unnumbered.Guest.VMID = 0
	deny := func(when string) policy.Rule { return policy.Rule{Name: "rule", When: when} }
	onStep := func(when string, ops ...string) policy.Rule {
		return policy.Rule{Name: "rule", On: policy.OnStep, When: when, Operations: ops}
	}
	asks := func(n int, when string, ops ...string) policy.Rule {
		r := onStep(when, ops...)
		r.Result, r.Approvals = policy.RequireApproval, n
		return r
	}
	approved := func(digest string, people ...string) func(*Gate) {
		return func(g *Gate) {
			for _, p := range people {
				g.Approvals[digest] = append(g.Approvals[digest], Approval{Key: p, Person: p, Proven: g.Now})
			}
		}
	}
	destroyDigest := destroy.Digest("home", "identity")
	tests := map[string]struct {
		step    plan.Step
		rule    policy.Rule
		with    func(*Gate)
		want    reason.Name
		message string
		spends  int
	}{
		"about_another_guest":          {step: config, rule: deny(`new.name == "web-2"`)},
		"denied":                       {step: config, rule: deny(`size(new.networks) < 2 && new.labels.stage == "prod"`), want: reason.Policy, message: "policy rule denies it: told"},
		"a_broken_guest_may_stop":      {step: shutdown, rule: deny("true")},
		"creation_denied":              {step: create, rule: deny("new.memory == 2048 * 1024 * 1024"), want: reason.Policy},
		"signer":                       {step: config, rule: deny(`new.networks.exists(n, n.bridge == "vmbr1" && !("ops" in n.signers))`), want: reason.Policy},
		"signer_of_the_step":           {step: config, rule: onStep(`"wanda" in step.signers`), want: reason.Policy},
		"order_is_not_about_the_guest": {step: reboot, rule: deny("true")},
		"order_denied":                 {step: reboot, rule: onStep(`step.order != "" && now.getDayOfWeek() == 5`), want: reason.Policy},
		"other_operation":              {step: config, rule: onStep("true", "destroy")},
		"fails":                        {step: config, rule: onStep(`new.labels.owner == "x"`), want: reason.Policy, message: "cannot be evaluated: no such key: owner"},
		"warned":                       {step: config, rule: policy.Rule{Name: "rule", When: "true", Result: policy.Warn}},
		"approval":                     {step: config, rule: asks(1, "true"), want: reason.Policy, message: "policy rule requires an approval: told: 0 of 1 approvals"},
		"approved":                     {step: config, rule: asks(1, "true"), with: approved(config.Digest("home", "identity"), "olga"), spends: 1},
		"adoption_first":               {step: adopt, rule: asks(1, "true")},
		"destroy_needs_two":            {step: destroy, rule: asks(2, `"protected" in old.tags`, "destroy"), with: approved(destroyDigest, "olga"), want: reason.Policy, message: "1 of 2 approvals"},
		"destroy_has_two":              {step: destroy, rule: asks(2, `"protected" in old.tags`, "destroy"), with: approved(destroyDigest, "olga", "otto"), spends: 2},
		"guards_need_more": {
			step: destroy, rule: asks(1, "true"), want: reason.Policy, message: "1 of 2 approvals",
			with: func(g *Gate) { g.RequiredApprovals = 2; approved(destroyDigest, "olga")(g) },
		},
		"no_approval_releases": {
			step: destroy, rule: asks(1, "true"), want: reason.ManifestForbids, with: func(g *Gate) { g.Remembered[201] = journal.Guarded{VMID: 201, Destroy: "deny"} },
		},
		"creation_before_its_vmid": {step: unnumbered, rule: asks(1, "true"), want: reason.Policy},
		"creation_approved":        {step: create, rule: asks(1, "true"), with: approved(creationDigest("home", &d), "olga")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, d := policyWorld()
			if test.with != nil {
				test.with(&g)
			}
			guests := []guest.Desired{d}
			if test.step.Op == cluster.OpDestroy {
				guests = nil
			}
			if test.step.Guest.VMID == 0 {
				guests[0].VMID = 0
			}
			g.Rules = rulesOf(t, guests, test.rule)
			v := g.Judge(test.step)
			if v.Held != (test.want != "") || v.Reason != test.want || !strings.Contains(v.Message, test.message) || len(v.ApprovalKeys) != test.spends {
				t.Errorf("got %+v, want reason %q with %q and %d approvals spent", v, test.want, test.message, test.spends)
			}
		})
	}
}

// TestCreationDigest: the approval of a creation outlives the choice of an identity, and no change of what is created.
func TestCreationDigest(t *testing.T) {
	t.Parallel()
	g, d := policyWorld()
	g.Rules = rulesOf(t, []guest.Desired{d}, policy.Rule{Name: "rule", On: policy.OnStep, When: "true", Result: policy.RequireApproval, Approvals: 1})
	create := plan.Step{Guest: d.Ref, Op: cluster.OpCreate, Class: guest.Live, TakesOwnership: true, Calls: []cluster.Call{{Op: cluster.OpCreate}}}
	held := g.Judge(create)
	g.Approvals[held.Digest] = []Approval{{Key: "k", Person: "olga", Proven: g.Now}}
	if v := g.Judge(create); v.Held || len(v.ApprovalKeys) != 0 {
		t.Errorf("before the identity: got %+v, want a release that spends nothing", v)
	}
	create.TakesOwnership, create.Calls[0].Params = false, map[string]string{"tags": "gitops-0123abcd"}
	if v := g.Judge(create); v.Held || len(v.ApprovalKeys) != 1 || v.Required != 1 {
		t.Errorf("with the identity: got %+v, want a release that spends the approval", v)
	}
	larger := d
	larger.Intents = append([]guest.Intent{{Key: "memory", Verb: guest.Want, Text: "65536"}}, d.Intents...)
	g.Rules = rulesOf(t, []guest.Desired{larger}, policy.Rule{Name: "rule", On: policy.OnStep, When: "true", Result: policy.RequireApproval, Approvals: 1})
	if v := g.Judge(create); !v.Held {
		t.Error("the approval releases another guest")
	}
}

// TestRulesFollowReadings: a guest is judged again when its reading, or who introduced its fields, has changed, and only then.
func TestRulesFollowReadings(t *testing.T) {
	t.Parallel()
	g, d := policyWorld()
	g.Rules = rulesOf(t, []guest.Desired{d}, policy.Rule{Name: "rule", When: `new.memory > 4 * 1024 * 1024 * 1024 || "olga" in new.signers["net0"]`})
	config := plan.Step{Guest: d.Ref, Op: cluster.OpConfig, Class: guest.Live, Calls: []cluster.Call{{Op: cluster.OpConfig}}}
	if g.Judge(config).Held {
		t.Fatal("held")
	}
	first := g.Rules.known[policyKey(d.Ref)]
	g.Judge(config)
	if g.Rules.known[policyKey(d.Ref)] != first {
		t.Error("judged again without a change")
	}
	seen := g.Seen[201]
	seen.Digest, seen.ReadAt, seen.Keys = "two", g.Now, map[string]guest.Value{"memory": {Text: "8192", Set: true}}
	g.Seen = map[int]guest.Observed{201: seen}
	if !g.Judge(config).Held {
		t.Error("the new reading was not judged")
	}
	g.Seen = nil
	if g.Judge(config).Held {
		t.Error("held without the reading")
	}
	g.Scope.Introduced = map[journal.Label]journal.Introduced{{Kind: "VirtualMachine", Name: "web-1"}: {By: []journal.Introduction{{Signer: "olga", Fields: []string{journal.AllFields}}}}}
	if !g.Judge(config).Held {
		t.Error("the other signer was not judged")
	}
}

// TestPoliciesOfIgnoredFields: a policy judges the fields of ignoreFields as long as a new guest gets them, and what the guest has afterwards.
func TestPoliciesOfIgnoredFields(t *testing.T) {
	t.Parallel()
	g, d := policyWorld()
	d.Intents, d.Ignore = []guest.Intent{{Key: "memory", Verb: guest.Want, Text: "8192"}}, []string{"memory"}
	g.Rules = rulesOf(t, []guest.Desired{d}, policy.Rule{Name: "rule", When: `new.memory > 4 * 1024 * 1024 * 1024`})
	config := plan.Step{Guest: d.Ref, Op: cluster.OpConfig, Class: guest.Live, Calls: []cluster.Call{{Op: cluster.OpConfig}}}
	for _, configuring := range []bool{true, false, true} {
		g.Owned = map[int]journal.Owned{201: {VMID: 201, Identity: "identity", Configuring: configuring}}
		if held := g.Judge(config).Held; held != configuring {
			t.Errorf("got held %t with configuring %t", held, configuring)
		}
	}
}

// TestPolicyConditions tells a warning of several steps once.
func TestPolicyConditions(t *testing.T) {
	t.Parallel()
	warn := Verdict{Policies: []policy.Finding{{Policy: "rule", Result: policy.Warn, Message: "told"}, {Policy: "other", Result: policy.Deny, Message: "no"}}}
	got := PolicyConditions([]Verdict{warn, warn})
	if len(got) != 1 || got[0].Message != "policy rule warns: told" || got[0].Reason != reason.Policy {
		t.Errorf("got %+v", got)
	}
}
