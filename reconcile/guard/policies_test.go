package guard

import (
	"slices"
	"strings"
	"testing"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/policy"
)

// ruleIn returns a policy of the repository in a file, changed.
func ruleIn(file string, change ...func(*policy.Rule)) policy.Rule {
	r := policy.Rule{
		Name: "two-nics", When: "size(new.networks) < 2", Message: "two", Result: policy.RequireApproval, Approvals: 2,
		Origin: guest.Origin{File: file, Line: 3, Column: 1},
	}
	for _, c := range change {
		c(&r)
	}
	return r
}

// introducedBy returns a state in which signers introduced the policy.
func introducedBy(state journal.State, signers ...journal.Introduction) journal.State {
	state.Introduced = map[journal.Label]journal.Introduced{{Kind: "Policy", Name: "two-nics"}: {By: signers}}
	return state
}

// withPolicies returns the state after the acceptance of policies.
func withPolicies(state journal.State, rules ...policy.Rule) journal.State {
	return After(state, AcceptPolicies(rules, state))
}

// TestPolicyChanges compares a change of a policy with the one in force. One that holds less needs an approval, after which it is in force.
func TestPolicyChanges(t *testing.T) {
	t.Parallel()
	type change = func(*policy.Rule)
	web := journal.Introduction{Signer: "wanda", Paths: []string{"teams/web"}}
	tests := map[string]struct {
		change  change
		signers []journal.Introduction // of the change; nil for the same
		want    string                 // the weakening; "" for none
	}{
		"nothing":           {func(*policy.Rule) {}, nil, ""},
		"description":       {func(r *policy.Rule) { r.Description = "for readers" }, nil, ""},
		"line":              {func(r *policy.Rule) { r.Origin.Line = 9 }, nil, ""},
		"same_folder":       {func(r *policy.Rule) { r.Origin.File = "teams/web/rules.yaml" }, nil, ""},
		"deny":              {func(r *policy.Rule) { r.Result, r.Approvals = policy.Deny, 0 }, nil, ""},
		"default_result":    {func(r *policy.Rule) { r.Result, r.Approvals = "", 0 }, nil, ""},
		"more_approvals":    {func(r *policy.Rule) { r.Approvals = 3 }, nil, ""},
		"folder_above":      {func(r *policy.Rule) { r.Origin.File = "teams/rules.yaml" }, nil, ""},
		"unknown_signer":    {func(r *policy.Rule) { r.Approvals = 3 }, []journal.Introduction{}, ""},
		"unlimited_signer":  {func(r *policy.Rule) { r.Approvals = 3 }, []journal.Introduction{{Signer: "olga"}}, ""},
		"fewer_approvals":   {func(r *policy.Rule) { r.Approvals = 1 }, nil, "Policy/two-nics: result requireApproval by 2 -> result requireApproval by 1"},
		"default_approvals": {func(r *policy.Rule) { r.Approvals = 0 }, nil, "Policy/two-nics: result requireApproval by 2 -> result requireApproval by 1"},
		"warn":              {func(r *policy.Rule) { r.Result, r.Approvals = policy.Warn, 0 }, nil, "Policy/two-nics: result requireApproval by 2 -> result warn"},
		"condition":         {func(r *policy.Rule) { r.When = "false" }, nil, "Policy/two-nics: when size(new.networks) < 2 -> when false"},
		"message":           {func(r *policy.Rule) { r.Message = "2" }, nil, "Policy/two-nics: message two -> message 2"},
		"kinds":             {func(r *policy.Rule) { r.Kinds = []guest.Kind{guest.Container} }, nil, "Policy/two-nics: kinds none -> kinds Container"},
		"folder_below":      {func(r *policy.Rule) { r.Origin.File = "teams/web/test/rules.yaml" }, nil, "Policy/two-nics: folder teams/web -> folder teams/web/test"},
		"folder_beside":     {func(r *policy.Rule) { r.Origin.File = "teams/db/rules.yaml" }, nil, "Policy/two-nics: folder teams/web -> folder teams/db"},
		"narrower_signer": {
			func(r *policy.Rule) { r.Approvals = 3 },
			[]journal.Introduction{{Signer: "wanda", Guests: []string{"Container/*"}}},
			"Policy/two-nics: result requireApproval by 2, scope teams/web -> result requireApproval by 3, scope Container/*",
		},
		"about_steps": {
			func(r *policy.Rule) {
				r.On, r.Operations, r.Classes, r.Message, r.Expression = policy.OnStep, []string{"destroy"}, []guest.Class{guest.Destructive}, "", "step.op"
			}, nil,
			"Policy/two-nics: on guest, operations none, classes none, message two, messageExpression none -> on step, operations destroy, classes destructive, message none, messageExpression step.op",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := withPolicies(introducedBy(journal.State{}, web), ruleIn("teams/web/p.yaml"))
			if test.signers != nil {
				state = introducedBy(state, test.signers...)
			}
			in := input(state)
			in.Policies = []policy.Rule{ruleIn("teams/web/p.yaml", test.change)}
			wanted := recordOf(withSigners(in.Policies[0], state))
			accepted := After(state, AcceptPolicies(in.Policies, state)).Policies["two-nics"]
			got := Resolve(in)
			if test.want == "" {
				if len(got.Weakenings) > 0 || !samePolicy(accepted, wanted) || !samePolicy(recordOf(got.Policies[0]), wanted) {
					t.Errorf("got %v and %+v, want no weakening", got.Weakenings, got.Policies)
				}
				return
			}
			if len(got.Weakenings) != 1 || got.Weakenings[0].String() != test.want || got.Weakenings[0].Origin != in.Policies[0].Origin {
				t.Fatalf("got %v, want %s", got.Weakenings, test.want)
			}
			before := state.Policies["two-nics"]
			if !samePolicy(accepted, before) || !samePolicy(recordOf(got.Policies[0]), before) {
				t.Errorf("got %+v in effect, want the former policy", got.Policies)
			}
			in.State = After(state, Release(in, got.Weakenings))
			if got := Resolve(in); len(got.Weakenings) > 0 || !samePolicy(recordOf(got.Policies[0]), wanted) {
				t.Errorf("got %v and %+v after the approval, want the new policy", got.Weakenings, got.Policies)
			}
		})
	}
}

// TestPolicySignersUnknown accepts a revision of which the journal does not know who introduced the policy, as after a rewrite of the history. The scope of the policy in force stays.
func TestPolicySignersUnknown(t *testing.T) {
	t.Parallel()
	state := withPolicies(introducedBy(journal.State{}, journal.Introduction{Signer: "wanda", Paths: []string{"web"}}), ruleIn("p.yaml"))
	state.Introduced = nil
	in := input(state)
	in.Policies = []policy.Rule{ruleIn("p.yaml", func(r *policy.Rule) { r.Approvals = 3 })}
	got := Resolve(in).Policies
	if len(got) != 1 || got[0].Approvals != 3 || len(got[0].Reach.Signers) != 1 || got[0].Reach.Signers[0].Name != "wanda" {
		t.Errorf("got %+v, want three approvals in the scope of wanda", got)
	}
}

// TestPolicyRemoved keeps a removed policy in force until it is approved. One that comes back changes nothing.
func TestPolicyRemoved(t *testing.T) {
	t.Parallel()
	state := withPolicies(journal.State{}, ruleIn("teams/web/p.yaml"))
	in := input(state)
	got := Resolve(in)
	if len(got.Policies) != 1 || len(got.Weakenings) != 1 || got.Weakenings[0].String() != "Policy/two-nics: requireApproval by 2 in teams/web -> removed" {
		t.Fatalf("got %+v", got)
	}
	in.Policies = []policy.Rule{ruleIn("teams/web/p.yaml")}
	if again := Resolve(in); len(again.Weakenings) > 0 || len(AcceptPolicies(in.Policies, state)) > 0 {
		t.Errorf("got %v, want no weakening", again.Weakenings)
	}
	in.Policies = nil
	in.State = After(state, Release(in, got.Weakenings))
	if after := Resolve(in); len(after.Policies)+len(after.Weakenings) > 0 {
		t.Errorf("got %+v, want no policy", after)
	}
}

// TestPolicyMistake puts a policy with a mistake into effect beside the one in force. It is not recorded, so correcting it needs no approval.
func TestPolicyMistake(t *testing.T) {
	t.Parallel()
	wrong := ruleIn("teams/web/p.yaml", func(r *policy.Rule) { r.When, r.Mistake = "", "when: got none" })
	for name, state := range map[string]journal.State{"new": {}, "known": withPolicies(journal.State{}, ruleIn("teams/web/p.yaml"))} {
		in := input(state)
		in.Policies = []policy.Rule{wrong}
		got := Resolve(in)
		if len(got.Weakenings) > 0 || len(AcceptPolicies(in.Policies, state)) > 0 || len(got.Policies) != 1+len(state.Policies) || got.Policies[len(got.Policies)-1].Mistake == "" {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestPolicyDigests approves exactly one change: another value, folder or scope is another decision; another line or name of a signer is the same one.
func TestPolicyDigests(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("new.exists && ", 20)
	state := withPolicies(introducedBy(journal.State{}, journal.Introduction{Signer: "wanda"}), ruleIn("p.yaml"))
	digest := func(signer journal.Introduction, change func(*policy.Rule)) string {
		in := input(introducedBy(state, signer))
		in.Policies = []policy.Rule{ruleIn("p.yaml", change)}
		return Resolve(in).Weakenings[0].Digest
	}
	wanda := journal.Introduction{Signer: "wanda"}
	first := digest(wanda, func(r *policy.Rule) { r.When = long + "true" })
	if digest(journal.Introduction{Signer: "olga"}, func(r *policy.Rule) { r.When, r.Origin.Line = long+"true", 99 }) != first {
		t.Error("got another digest for another line and signer, want the same")
	}
	seen := []string{first}
	for name, got := range map[string]string{
		"end_of_a_long_condition": digest(wanda, func(r *policy.Rule) { r.When = long + "false" }),
		"scope":                   digest(journal.Introduction{Signer: "wanda", Paths: []string{"web"}}, func(r *policy.Rule) { r.When = long + "true" }),
		"folder":                  digest(wanda, func(r *policy.Rule) { r.When, r.Origin.File = long+"true", "web/p.yaml" }),
	} {
		if slices.Contains(seen, got) {
			t.Errorf("%s: got the same digest, want another one", name)
		}
		seen = append(seen, got)
	}
}

// TestPlaces moves the manifest of a guest out of the folder of a policy, which still applies until that is approved.
func TestPlaces(t *testing.T) {
	t.Parallel()
	in := func(file string) func(*guest.Desired) {
		return func(d *guest.Desired) { d.Origin = guest.Origin{File: file, Line: 1, Column: 1} }
	}
	state := withPolicies(inForce(wanted(201), wanted(202)), ruleIn("teams/web/p.yaml"))
	web := journal.Label{Kind: "VirtualMachine", Name: "web-201"}
	move := func(state journal.State, from string, guests ...guest.Desired) (journal.State, Resolved) {
		next := input(state, guests...)
		next.Policies = []policy.Rule{ruleIn("teams/web/p.yaml")}
		next.State = After(state, AcceptPlaces(next, state, map[journal.Label]string{web: from}))
		return next.State, Resolve(next)
	}
	tests := map[string]struct {
		from, to string
		want     string // "" for no weakening
	}{
		"out":            {"teams/web/a.yaml", "teams/db/a.yaml", "policies of its folder: two-nics -> none of them in teams/db"},
		"within":         {"teams/web/a.yaml", "teams/web/test/a.yaml", ""},
		"into":           {"teams/db/a.yaml", "teams/web/a.yaml", ""},
		"between_others": {"teams/db/a.yaml", "teams/app/a.yaml", ""},
	}
	for name, test := range tests {
		_, got := move(state, test.from, wanted(201, in(test.to)), wanted(202, in("teams/web/b.yaml")))
		var text string
		for _, w := range got.Weakenings {
			text += w.String()
		}
		if text != test.want || (len(got.Left[201]) == 1) != (test.want != "") {
			t.Errorf("%s: got %q and %v, want %q", name, text, got.Left, test.want)
		}
	}

	moved, got := move(state, "teams/web/a.yaml", wanted(201, in("teams/db/a.yaml")))
	further, _ := move(moved, "teams/db/a.yaml", wanted(201, in("teams/app/a.yaml")))
	if !slices.Equal(further.Left[201], []journal.Former{{File: "teams/web/a.yaml"}}) {
		t.Errorf("got %v after another move, want the first file", further.Left)
	}
	if back, got := move(further, "teams/app/a.yaml", wanted(201, in("teams/web/a.yaml"))); len(back.Left) > 0 || len(got.Weakenings) > 0 {
		t.Errorf("got %v and %v after the move back, want nothing", back.Left, got.Weakenings)
	}
	if gone, got := move(state, "teams/web/a.yaml", wanted(202, in("teams/web/b.yaml"))); !slices.Equal(got.Left[201], []journal.Former{{File: "teams/web/a.yaml"}}) || len(got.Weakenings) > 0 || len(gone.Left) != 1 {
		t.Errorf("got %v and %v of a removed manifest, want that the policies of its folder apply", got.Left, got.Weakenings)
	}
	next := input(moved, wanted(201, in("teams/db/a.yaml")))
	next.Policies = []policy.Rule{ruleIn("teams/web/p.yaml")}
	next.State = After(moved, Release(next, got.Weakenings))
	if after := Resolve(next); len(after.Left)+len(after.Weakenings) > 0 {
		t.Errorf("got %+v after the approval, want nothing", after)
	}
}

// TestPlacesOfLabels gives guests other labels, which the signer of a policy may not change. The policy still applies under the label that a guest had.
func TestPlacesOfLabels(t *testing.T) {
	t.Parallel()
	at := func(name, file string) func(*guest.Desired) {
		return func(d *guest.Desired) { d.Name, d.Origin = name, guest.Origin{File: file, Line: 1, Column: 1} }
	}
	webs := journal.Introduction{Signer: "wanda", Guests: []string{"VirtualMachine/web-*"}}
	const folder = "teams/web/"
	begin := withPolicies(introducedBy(inForce(wanted(201, at("web-1", folder+"a.yaml")), wanted(202, at("app-1", folder+"a.yaml"))), webs), ruleIn(folder+"p.yaml"))
	type revision struct {
		moved  map[journal.Label]string
		guests []guest.Desired
	}
	label := func(name string) journal.Label { return journal.Label{Kind: "VirtualMachine", Name: name} }
	first := []journal.Former{{File: folder + "a.yaml", Label: "VirtualMachine/web-1"}}
	tests := map[string]struct {
		revisions []revision
		want      []journal.Former // of guest 201
	}{
		"another_label": {[]revision{{map[journal.Label]string{label("web-1"): folder + "a.yaml"}, []guest.Desired{wanted(201, at("db-1", folder+"a.yaml"))}}}, first},
		"two_guests_change_labels": {
			[]revision{{nil, []guest.Desired{wanted(201, at("app-1", folder+"a.yaml")), wanted(202, at("web-1", folder+"a.yaml"))}}},
			first,
		},
		"moved_and_then_another_label": {[]revision{
			{map[journal.Label]string{label("web-1"): folder + "a.yaml"}, []guest.Desired{wanted(201, at("web-1", "db/a.yaml"))}},
			{map[journal.Label]string{label("web-1"): "db/a.yaml"}, []guest.Desired{wanted(201, at("db-1", "db/a.yaml"))}},
		}, first},
		"removed_and_then_another_label": {[]revision{
			{map[journal.Label]string{label("web-1"): folder + "a.yaml"}, nil},
			{nil, []guest.Desired{wanted(201, at("db-1", "db/a.yaml"))}},
		}, first},
		"back": {[]revision{
			{map[journal.Label]string{label("web-1"): folder + "a.yaml"}, []guest.Desired{wanted(201, at("db-1", folder+"a.yaml"))}},
			{map[journal.Label]string{label("db-1"): folder + "a.yaml"}, []guest.Desired{wanted(201, at("web-1", folder+"a.yaml"))}},
		}, nil},
		"within": {[]revision{{map[journal.Label]string{label("web-1"): folder + "a.yaml"}, []guest.Desired{wanted(201, at("web-2", folder+"a.yaml"))}}}, nil},
	}
	for name, test := range tests {
		state := begin
		var got Resolved
		for _, r := range test.revisions {
			next := input(state, r.guests...)
			next.Policies = []policy.Rule{ruleIn(folder + "p.yaml")}
			var guards []journal.Body
			for i := range r.guests {
				guards = append(guards, Accept(&r.guests[i], state, noon))
			}
			next.State = After(state, guards)
			next.State = After(next.State, AcceptPlaces(next, state, r.moved))
			state, got = next.State, Resolve(next)
		}
		if !slices.Equal(got.Left[201], test.want) || len(got.Left[202]) > 0 {
			t.Errorf("%s: got %v, want %v of 201", name, got.Left, test.want)
		}
	}
}

func TestCountPolicies(t *testing.T) {
	t.Parallel()
	state := journal.State{Policies: map[string]journal.PolicyInForce{"two-nics": {}, "old": {}}}
	if got := CountPolicies([]policy.Rule{{Name: "two-nics"}, {Name: "new"}}, state); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}
