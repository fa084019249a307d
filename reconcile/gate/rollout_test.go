package gate

import (
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// TestWithheldGuests: what would bring the newest revision to a guest is held, unless the guest is planned for its last released revision.
func TestWithheldGuests(t *testing.T) {
	t.Parallel()
	ref := guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}
	hold := NewWithheld("it is in batch 2 of 3 of Rollout/web", "wait")
	step := func(op cluster.Op, class guest.Class) plan.Step { return plan.Step{Guest: ref, Op: op, Class: class} }
	ordered := step(cluster.OpStart, guest.Restart)
	ordered.Order = &order.Open{}
	tests := map[string]struct {
		withheld Withheld
		step     plan.Step
		held     bool
	}{
		"restart":         {Withheld{}, step(cluster.OpConfig, guest.Restart), true},
		"live":            {Withheld{}, step(cluster.OpConfig, guest.Live), false},
		"live_is_held":    {Withheld{Live: true}, step(cluster.OpConfig, guest.Live), true},
		"destroy":         {Withheld{}, step(cluster.OpDestroy, guest.Destructive), true},
		"released_before": {Withheld{Known: true, Live: true}, step(cluster.OpConfig, guest.Restart), false},
		"order":           {Withheld{}, ordered, false},
	}
	for name, test := range tests {
		test.withheld.Hold = hold
		g := Gate{Withheld: map[int]Withheld{201: test.withheld}, RequiredApprovals: 1, NamedGuests: 1, MaxDestroy: 3}
		v := g.Judge(test.step)
		if got := v.Held && v.Reason == reason.Rollout; got != test.held || got && (v.Message != hold.Message || v.Hint != "wait") {
			t.Errorf("%s: got %+v, want held by the rollout: %t", name, v, test.held)
		}
	}
}

// TestScopeOfAnEarlierRevision: a step towards the last released revision is judged by who introduced that one, whoever wrote the newest.
func TestScopeOfAnEarlierRevision(t *testing.T) {
	t.Parallel()
	label := journal.Label{Kind: "VirtualMachine", Name: "web-9"}
	step := plan.Step{Guest: guest.Ref{Kind: guest.VirtualMachine, Name: "web-9", VMID: 1000}, Op: cluster.OpConfig, TakesOwnership: true}
	s := scopeOf(Limit{Guests: []string{"VirtualMachine/web-*"}})
	s.Introduced[label] = journal.Introduced{By: []journal.Introduction{{Signer: "alice", Fields: []string{journal.AllFields}}}}
	if s.Judge(step).Held {
		t.Fatal("got a step of alice held, want a scope without limit")
	}
	s.Former = map[journal.Label][]journal.Introduction{label: {{Signer: "wanda", Entry: wandasEntry, Limited: true, Fields: []string{journal.AllFields}}}}
	if v := s.Judge(step); !v.Held || v.Reason != reason.Scope {
		t.Errorf("got %+v, want the scope of wanda, who wrote the earlier revision", v)
	}
}
