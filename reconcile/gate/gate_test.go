package gate

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

func TestGateJudge(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ref := guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}
	destroy := plan.Step{Guest: ref, Op: cluster.OpDestroy, Class: guest.Destructive, Calls: []cluster.Call{{Op: cluster.OpDestroy, VMID: 201}}}
	doubtful := destroy
	doubtful.Doubt = "ownership record and tag do not agree"
	config := plan.Step{Guest: ref, Op: cluster.OpConfig, Class: guest.Live, Calls: []cluster.Call{{Op: cluster.OpConfig, Params: map[string]string{"memory": "2048"}}}}
	linkFlap := plan.Step{Guest: ref, Op: cluster.OpConfig, Class: guest.Disruptive, Calls: []cluster.Call{{Op: cluster.OpConfig, Params: map[string]string{"net0": "x"}}}}
	shutdown := plan.Step{Guest: ref, Op: cluster.OpShutdown, Class: guest.Disruptive, Calls: []cluster.Call{{Op: cluster.OpShutdown}}}
	create := plan.Step{Guest: ref, Op: cluster.OpCreate, Class: guest.Live, Calls: []cluster.Call{{Op: cluster.OpCreate}}}
	reboot := plan.Step{Guest: ref, Op: cluster.OpReboot, Class: guest.Disruptive, Pending: []string{"cores=4"}, Calls: []cluster.Call{{Op: cluster.OpReboot}}}
	foreign := reboot
	foreign.Doubt = "it also brings into effect what somebody else wrote: cpu"
	rebooting := func(policy guest.RebootPolicy, window string) func(*Gate) {
		return func(g *Gate) {
			g.Policies = NewPolicies([]guest.Desired{{Ref: ref, Lifecycle: guest.Lifecycle{RebootPolicy: policy, Window: window}}})
		}
	}
	approval := func(step plan.Step, age time.Duration, people ...string) func(*Gate) {
		return func(g *Gate) {
			digest := step.Digest("home", "identity")
			for _, p := range people {
				g.Approvals[digest] = append(g.Approvals[digest], Approval{Key: p + age.String(), Person: p, Proven: now.Add(-age)})
			}
		}
	}
	lifecycle := func(destroy string) func(*Gate) {
		return func(g *Gate) { g.Remembered[201] = journal.Guarded{VMID: 201, Destroy: destroy} }
	}
	policy := func(p Policy) func(*Gate) { return func(g *Gate) { g.Policies[policyKey(ref)] = p } }
	again := create
	again.Recreates = true
	recreation := func(remembered string, wanted guest.Permission) func(*Gate) {
		return func(g *Gate) {
			g.Remembered[201] = journal.Guarded{VMID: 201, Recreate: remembered}
			g.Policies[policyKey(ref)] = Policy{Lifecycle: guest.Lifecycle{Recreate: wanted}}
		}
	}
	tests := map[string]struct {
		step plan.Step
		with []func(*Gate)
		want reason.Name // "" is released
	}{
		"live_config":                  {step: config},
		"interrupting_config":          {step: linkFlap, want: reason.Approval},
		"interrupting_config_approved": {step: linkFlap, with: []func(*Gate){approval(linkFlap, time.Hour, "olga")}},
		"shutdown_is_asked_for":        {step: shutdown},
		"reboot_auto":                  {step: reboot, with: []func(*Gate){rebooting(guest.RebootAuto, "")}},
		"reboot_auto_foreign_pending":  {step: foreign, with: []func(*Gate){rebooting(guest.RebootAuto, "")}, want: reason.Approval},
		"reboot_approve":               {step: reboot, with: []func(*Gate){rebooting(guest.RebootApprove, "")}, want: reason.Approval},
		"reboot_approved":              {step: reboot, with: []func(*Gate){rebooting(guest.RebootApprove, ""), approval(reboot, time.Hour, "olga")}},
		"reboot_in_window":             {step: reboot, with: []func(*Gate){rebooting(guest.RebootWindow, "Sun 11:00-13:00 UTC")}},
		"reboot_out_of_window":         {step: reboot, with: []func(*Gate){rebooting(guest.RebootWindow, "Sun 13:00-14:00 UTC")}, want: reason.Window},
		"reboot_approved_out_of_window": {
			step: foreign, with: []func(*Gate){rebooting(guest.RebootWindow, "Sun 13:00-14:00 UTC"), approval(foreign, time.Hour, "olga")}, want: reason.Window,
		},
		"reboot_in_window_foreign_pending": {step: foreign, with: []func(*Gate){rebooting(guest.RebootWindow, "Sun 11:00-13:00 UTC")}, want: reason.Approval},
		"reboot_unreadable_window":         {step: reboot, with: []func(*Gate){rebooting(guest.RebootWindow, "someday")}, want: reason.Window},
		"destroy":                          {step: destroy, want: reason.Approval},
		"destroy_approved":                 {step: destroy, with: []func(*Gate){approval(destroy, time.Hour, "olga")}},
		"destroy_approved_for_another":     {step: destroy, with: []func(*Gate){approval(config, time.Hour, "olga")}, want: reason.Approval},
		"destroy_approval_expired":         {step: destroy, with: []func(*Gate){approval(destroy, 7*24*time.Hour, "olga")}, want: reason.Approval},
		"destroy_denied_though_approved": {
			step: destroy, with: []func(*Gate){lifecycle("deny"), approval(destroy, time.Hour, "olga")}, want: reason.ManifestForbids,
		},
		"destroy_allowed":            {step: destroy, with: []func(*Gate){lifecycle("allow")}},
		"destroy_allowed_with_doubt": {step: doubtful, with: []func(*Gate){lifecycle("allow")}, want: reason.Approval},
		"destroy_over_the_limit":     {step: destroy, with: []func(*Gate){lifecycle("allow"), func(g *Gate) { g.Destroyed = 3 }}, want: reason.DestroyLimit},
		"destroy_of_everything":      {step: destroy, with: []func(*Gate){lifecycle("allow"), func(g *Gate) { g.NamedGuests = 0 }}, want: reason.DestroyLimit},
		"destroy_of_every_guest": {
			step: destroy, with: []func(*Gate){lifecycle("allow"), func(g *Gate) { g.NamedGuests, g.NamedObjects = 0, 1 }}, want: reason.DestroyLimit,
		},
		"two_needed_one_there":        {step: destroy, with: []func(*Gate){approval(destroy, time.Hour, "olga"), func(g *Gate) { g.RequiredApprovals = 2 }}, want: reason.Approval},
		"two_needed_one_person_twice": {step: destroy, with: []func(*Gate){approval(destroy, time.Hour, "olga", "olga"), func(g *Gate) { g.RequiredApprovals = 2 }}, want: reason.Approval},
		"two_needed_two_there":        {step: destroy, with: []func(*Gate){approval(destroy, time.Hour, "olga", "pia"), func(g *Gate) { g.RequiredApprovals = 2 }}},
		"observe":                     {step: config, with: []func(*Gate){policy(Policy{Observe: true})}, want: reason.ManifestForbids},
		"suspended":                   {step: config, with: []func(*Gate){policy(Policy{Suspend: &guest.Suspension{Reason: "migration"}})}, want: reason.Suspended},
		"suspended_until_then": {
			step: config, with: []func(*Gate){policy(Policy{Suspend: &guest.Suspension{Until: now.Add(time.Second)}})}, want: reason.Suspended,
		},
		"suspended_no_more":          {step: config, with: []func(*Gate){policy(Policy{Suspend: &guest.Suspension{Until: now}})}},
		"no_writes":                  {step: config, with: []func(*Gate){func(g *Gate) { g.NoWrites = "journal: no space left" }}, want: reason.WritesStopped},
		"waits":                      {step: create, with: []func(*Gate){func(g *Gate) { g.Waits = func(plan.Step) plan.Wait { return plan.Wait{Message: "it depends on db-1"} } }}, want: reason.WaitsFor},
		"recreate_without_lifecycle": {step: again, want: reason.Approval},
		"recreate_approved":          {step: again, with: []func(*Gate){approval(again, time.Hour, "olga")}},
		"recreate_approved_for_another": {
			step: again, with: []func(*Gate){recreation("approve", guest.Approve), approval(destroy, time.Hour, "olga")}, want: reason.Approval,
		},
		"recreate_allowed":                {step: again, with: []func(*Gate){recreation("allow", guest.Allow)}},
		"recreate_allowed_by_manifest":    {step: again, with: []func(*Gate){recreation("approve", guest.Allow)}, want: reason.Approval},
		"recreate_allowed_older_journal":  {step: again, with: []func(*Gate){recreation("", guest.Allow)}, want: reason.Approval},
		"recreate_allowed_in_the_past":    {step: again, with: []func(*Gate){recreation("allow", guest.Approve)}, want: reason.Approval},
		"recreate_denied_by_manifest":     {step: again, with: []func(*Gate){recreation("allow", guest.Deny)}, want: reason.ManifestForbids},
		"recreate_denied_though_approved": {step: again, with: []func(*Gate){recreation("deny", guest.Deny), approval(again, time.Hour, "olga")}, want: reason.ManifestForbids},
		"recreate_waits": {
			step: again, with: []func(*Gate){recreation("allow", guest.Allow), func(g *Gate) { g.Waits = func(plan.Step) plan.Wait { return plan.Wait{Message: "it depends on db-1"} } }}, want: reason.WaitsFor,
		},
		"drift_does_not_wait": {
			step: config, with: []func(*Gate){func(g *Gate) { g.Waits = func(plan.Step) plan.Wait { return plan.Wait{Message: "it depends on db-1"} } }},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := Gate{
				Cluster: "home", Now: now, Policies: Policies{}, Remembered: map[int]journal.Guarded{201: {VMID: 201, Destroy: "approve"}},
				Owned: map[int]journal.Owned{201: {Identity: "identity"}}, Approvals: Approvals{}, RequiredApprovals: 1, NamedGuests: 5, MaxDestroy: 3,
			}
			for _, with := range test.with {
				with(&g)
			}
			got := g.Judge(test.step)
			if got.Held != (test.want != "") || got.Reason != test.want {
				t.Errorf("got held %t for %q (%s), want %q", got.Held, got.Reason, got.Message, test.want)
			}
			if got.Reason == reason.Approval && !strings.Contains(got.Hint, got.Digest) {
				t.Errorf("got hint %q, want it to name the digest %s", got.Hint, got.Digest)
			}
		})
	}
}

// A destroy or shutdown that is permitted waits for the guests that depend on the guest. Without such guests it is released with the approvals that it uses up.
func TestGateJudgeTakesDown(t *testing.T) {
	ref := guest.Ref{Kind: guest.VirtualMachine, Name: "db-1", VMID: 201}
	for _, op := range []cluster.Op{cluster.OpDestroy, cluster.OpShutdown} {
		step := plan.Step{Guest: ref, Op: op, Class: guest.Disruptive, Calls: []cluster.Call{{Op: op, VMID: 201}}}
		g := Gate{
			Cluster: "home", Owned: map[int]journal.Owned{201: {Identity: "identity"}}, Approvals: Approvals{}, RequiredApprovals: 1, NamedGuests: 5, MaxDestroy: 3,
			Waits: func(plan.Step) plan.Wait { return plan.Wait{Message: "app-1 depends on it"} },
		}
		if got := g.Judge(step); op == cluster.OpDestroy && (got.Reason != reason.Approval || got.Digest == "") {
			t.Errorf("%s: got %+v, want it held for an approval first", op, got)
		}
		g.Approvals[step.Digest("home", "identity")] = []Approval{{Key: "k", Person: "olga"}}
		if got := g.Judge(step); got.Reason != reason.WaitsFor || got.Message != "app-1 depends on it" {
			t.Errorf("%s: got %+v, want it to wait", op, got)
		}
		g.Waits = func(plan.Step) plan.Wait { return plan.Wait{} }
		if got := g.Judge(step); got.Held || op == cluster.OpDestroy && len(got.ApprovalKeys) != 1 {
			t.Errorf("%s: got %+v, want it released, a destroy by its approval", op, got)
		}
	}
}

func TestGateNextNeverStartsBeforeCreate(t *testing.T) {
	planned := plan.Guest{Steps: []plan.Step{
		{Op: cluster.OpCreate, Guest: guest.Ref{VMID: 201}, Calls: []cluster.Call{{Op: cluster.OpCreate}}},
		{Op: cluster.OpStart, Guest: guest.Ref{VMID: 201}, Calls: []cluster.Call{{Op: cluster.OpStart}}},
	}}
	g := Gate{Waits: func(s plan.Step) plan.Wait {
		if s.Op == cluster.OpCreate {
			return plan.Wait{Message: "something else comes first"}
		}
		return plan.Wait{}
	}}
	if step, _, ok := g.Next(planned); ok {
		t.Errorf("got %s released while the create is held, want nothing", step.Op)
	}
}

func TestGateNextPassesOverHeldChange(t *testing.T) {
	planned := plan.Guest{Steps: []plan.Step{
		{Op: cluster.OpConfig, Class: guest.Disruptive, Guest: guest.Ref{VMID: 201}, Calls: []cluster.Call{{Op: cluster.OpConfig}}},
		{Op: cluster.OpStart, Guest: guest.Ref{VMID: 201}, Calls: []cluster.Call{{Op: cluster.OpStart}}},
	}}
	step, _, ok := Gate{}.Next(planned)
	if !ok || step.Op != cluster.OpStart {
		t.Errorf("got %q released, want start", step.Op)
	}
}

// No other guest waits for a step that the manifest forbids for good, except for a guest that is gone: it would be missing.
func TestGateKeeps(t *testing.T) {
	t.Parallel()
	ref := guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}
	config := plan.Step{Guest: ref, Op: cluster.OpConfig, Class: guest.Live, Calls: []cluster.Call{{Op: cluster.OpConfig}}}
	destroy := plan.Step{Guest: ref, Op: cluster.OpDestroy, Class: guest.Destructive, Calls: []cluster.Call{{Op: cluster.OpDestroy}}}
	again := plan.Step{Guest: ref, Op: cluster.OpCreate, Recreates: true, Calls: []cluster.Call{{Op: cluster.OpCreate}}}
	for name, test := range map[string]struct {
		step    plan.Step
		policy  Policy
		guarded journal.Guarded
		want    bool
	}{
		"released":            {step: config},
		"observed":            {config, Policy{Observe: true}, journal.Guarded{}, true},
		"suspended":           {config, Policy{Suspend: &guest.Suspension{Reason: "repair"}}, journal.Guarded{}, true},
		"destroy_denied":      {destroy, Policy{}, journal.Guarded{Destroy: "deny"}, true},
		"destroy_waits":       {step: destroy, guarded: journal.Guarded{Destroy: "approve"}},
		"recreation_denied":   {step: again, policy: Policy{Lifecycle: guest.Lifecycle{Recreate: guest.Deny}}, guarded: journal.Guarded{Recreate: "deny"}},
		"recreation_observed": {again, Policy{Observe: true}, journal.Guarded{Recreate: "deny"}, true},
	} {
		g := Gate{
			Cluster: "home", Policies: Policies{policyKey(ref): test.policy}, Remembered: map[int]journal.Guarded{201: test.guarded}, RequiredApprovals: 1, NamedGuests: 5, MaxDestroy: 3,
			Owned: map[int]journal.Owned{201: {Identity: "identity"}}, Approvals: Approvals{},
		}
		if got := g.Keeps(test.step); got != test.want {
			t.Errorf("%s: got %t (%s), want %t", name, got, g.Judge(test.step).Reason, test.want)
		}
	}
}
