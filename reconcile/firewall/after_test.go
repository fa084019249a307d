package firewall_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
)

// TestPredictedFirewallIsTheModels compares what is predicted of a call with what the model of Proxmox makes of it.
func TestPredictedFirewallIsTheModels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := &guest.FirewallSeen{Rules: drawRules(t), Sets: []guest.FirewallSet{drawEntries(t, "live", []string{"10.0.0.0/30", "10.0.0.1", "al1"})}}
		n := len(before.Rules)
		call := cluster.Call{Op: cluster.OpFirewall, Firewall: cluster.FirewallCall{Verb: cluster.FirewallAdd, Object: cluster.FirewallRule}, Params: drawRule(t).Params()}
		if n > 0 && rapid.Bool().Draw(t, "existing") {
			call.Firewall.Verb = rapid.SampledFrom([]cluster.FirewallVerb{cluster.FirewallSet, cluster.FirewallMove, cluster.FirewallDelete}).Draw(t, "verb")
			call.Firewall.Pos, call.Firewall.To = rapid.IntRange(0, n-1).Draw(t, "pos"), rapid.IntRange(0, n+1).Draw(t, "to")
			call.Params = map[string]string{"enable": rapid.SampledFrom([]string{"0", "1"}).Draw(t, "enable")}
			call.Delete = rapid.SampledFrom([][]string{nil, {"comment"}}).Draw(t, "delete")
		}
		if got, want := firewall.RulesAfter(before.Rules, call), applied(t, before, call).Rules; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v after %+v", got, want, call)
		}
		call.Firewall = cluster.FirewallCall{
			Verb:   rapid.SampledFrom([]cluster.FirewallVerb{cluster.FirewallAdd, cluster.FirewallSet, cluster.FirewallDelete}).Draw(t, "verb of entry"),
			Object: cluster.FirewallEntry, Name: "s1", CIDR: rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2"}).Draw(t, "cidr"),
		}
		call.Params = map[string]string{"nomatch": rapid.SampledFrom([]string{"", "1"}).Draw(t, "nomatch"), "comment": "x"}
		after := guest.FirewallSet{Entries: firewall.EntriesAfter(before.Sets[0].Entries, call)}
		if want := applied(t, before, call).Sets[0]; !sameEntries(after, want) || len(after.Entries) != len(want.Entries) {
			t.Fatalf("got %v, want %v after %+v", after, want, call)
		}
	})
}
