package lane

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
)

func TestApplied(t *testing.T) {
	record := func(identity string, fingerprints map[string]string) journal.Applied {
		return journal.Applied{VMID: 201, Identity: identity, Fingerprints: fingerprints}
	}
	mine := fixture.Owned201().Identity
	config, create := journal.Begun{VMID: 201, Op: string(cluster.OpConfig)}, journal.Begun{VMID: 201, Op: string(cluster.OpCreate)}
	tests := map[string]struct {
		begun  journal.Begun
		c      conclusion
		before []journal.Applied
		want   []journal.Body
	}{
		"nothing_given":     {config, conclusion{result: journal.Done}, []journal.Applied{record(mine, map[string]string{"a": "1"})}, nil},
		"first":             {config, conclusion{result: journal.Done, given: map[string]string{"a": "1"}}, nil, []journal.Body{record(mine, map[string]string{"a": "1"})}},
		"another_key_stays": {config, conclusion{result: journal.Done, given: map[string]string{"b": "2"}}, []journal.Applied{record(mine, map[string]string{"a": "1"})}, []journal.Body{record(mine, map[string]string{"a": "1", "b": "2"})}},
		"of_another_guest":  {config, conclusion{result: journal.Done, given: map[string]string{"b": "2"}}, []journal.Applied{record("x", map[string]string{"a": "1"})}, []journal.Body{record(mine, map[string]string{"b": "2"})}},
		"later_call_failed": {config, conclusion{result: journal.Failed, given: map[string]string{"a": "1"}}, nil, []journal.Body{record(mine, map[string]string{"a": "1"})}},
		"created_again":     {create, conclusion{result: journal.Done}, []journal.Applied{record(mine, map[string]string{"a": "1"})}, []journal.Body{record(mine, map[string]string{})}},
		"creation_failed":   {create, conclusion{result: journal.Failed}, []journal.Applied{record(mine, map[string]string{"a": "1"})}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			state := journal.State{Owned: map[int]journal.Owned{201: fixture.Owned201()}, Applied: map[int]journal.Applied{}}
			for _, b := range test.before {
				state.Applied[201] = b
			}
			if diff := cmp.Diff(test.want, applied(test.begun, test.c, state)); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheSameMoveMayMoveAnotherRule compares steps that move a rule from the same position to the same one, before and after the first of them.
func TestTheSameMoveMayMoveAnotherRule(t *testing.T) {
	move := func(digest string) plan.Step {
		return plan.Step{Op: cluster.OpFirewall, Calls: []cluster.Call{{
			Op: cluster.OpFirewall, Digest: digest, Firewall: cluster.FirewallCall{Verb: cluster.FirewallMove, Object: cluster.FirewallRule, To: 3},
		}}}
	}
	if !sameEffect(move("a"), move("a")) {
		t.Error("got another effect on the same rules, want the same")
	}
	if sameEffect(move("a"), move("b")) {
		t.Error("got the same effect on other rules, want another one")
	}
}
