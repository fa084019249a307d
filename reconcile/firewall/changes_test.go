package firewall_test

import (
	"slices"
	"testing"

	"gitops-agent/reconcile/firewall"
	"gitops-agent/reconcile/guest"
)

// TestOneDifferenceIsFound changes a firewall in one place: the change has a call, unless the manifest leaves it to others.
func TestOneDifferenceIsFound(t *testing.T) {
	t.Parallel()
	ssh := guest.FirewallRule{Type: "in", Action: "ACCEPT", Macro: "ssh", Enabled: true}
	web := guest.FirewallRule{Type: "in", Action: "ACCEPT", Protocol: "tcp", DestPort: "80", Enabled: true}
	block := guest.FirewallRule{Type: "in", Action: "DROP", Comment: firewall.BlockComment, Enabled: true}
	alias, set := guest.FirewallAlias{Name: "office", CIDR: "10.0.0.0/24"}, guest.FirewallSet{Name: "admins"}
	tests := map[string]struct {
		change         func(want *guest.FirewallWanted, seen *guest.FirewallSeen)
		differs, other bool // with keepOthers
	}{
		"none":              {func(*guest.FirewallWanted, *guest.FirewallSeen) {}, false, false},
		"option":            {func(_ *guest.FirewallWanted, s *guest.FirewallSeen) { s.Options["policy_in"] = "ACCEPT" }, true, true},
		"option_not_wanted": {func(_ *guest.FirewallWanted, s *guest.FirewallSeen) { s.Options["dhcp"] = "1" }, false, false},
		"comment":           {func(_ *guest.FirewallWanted, s *guest.FirewallSeen) { s.Rules[1].Comment = "x" }, true, true},
		"disabled":          {func(_ *guest.FirewallWanted, s *guest.FirewallSeen) { s.Rules[1].Enabled = false }, true, true},
		"order":             {func(_ *guest.FirewallWanted, s *guest.FirewallSeen) { slices.Reverse(s.Rules) }, true, true},
		"missing_rule":      {func(_ *guest.FirewallWanted, s *guest.FirewallSeen) { s.Rules = s.Rules[:1] }, true, true},
		"rule_of_others":    {func(w *guest.FirewallWanted, _ *guest.FirewallSeen) { w.Rules = w.Rules[:1] }, true, false},
		"no_rules":          {func(w *guest.FirewallWanted, _ *guest.FirewallSeen) { w.Rules = nil }, false, false},
		"block_remains":     {func(_ *guest.FirewallWanted, s *guest.FirewallSeen) { s.Rules = append(s.Rules, block) }, true, true},
		"block_alone": {func(w *guest.FirewallWanted, s *guest.FirewallSeen) {
			w.Rules, s.Rules = nil, append(s.Rules, block)
		}, true, true},
		"alias":           {func(w *guest.FirewallWanted, _ *guest.FirewallSeen) { w.Aliases = append(w.Aliases, alias) }, true, true},
		"alias_of_others": {func(_ *guest.FirewallWanted, s *guest.FirewallSeen) { s.Aliases = append(s.Aliases, alias) }, true, false},
		"set":             {func(w *guest.FirewallWanted, _ *guest.FirewallSeen) { w.Sets = append(w.Sets, set) }, true, true},
		"set_of_others":   {func(_ *guest.FirewallWanted, s *guest.FirewallSeen) { s.Sets = append(s.Sets, set) }, true, false},
		"set_unmanaged": {func(w *guest.FirewallWanted, s *guest.FirewallSeen) {
			w.Sets, s.Sets = nil, append(s.Sets, set)
		}, false, false},
	}
	for name, test := range tests {
		for _, keepOthers := range []bool{false, true} {
			want := &guest.FirewallWanted{
				KeepOthers: keepOthers, Options: map[string]string{"enable": "1", "policy_in": "DROP"}, Rules: []guest.FirewallRule{ssh, web}, Aliases: []guest.FirewallAlias{}, Sets: []guest.FirewallSet{},
			}
			seen := &guest.FirewallSeen{Options: map[string]string{"enable": "1", "policy_in": "DROP"}, Rules: []guest.FirewallRule{ssh, web}}
			test.change(want, seen)
			differs := test.differs
			if keepOthers {
				differs = test.other
			}
			_, more := firewall.Next(want, seen)
			if shown := firewall.Changes(want, seen); more != differs || len(shown) > 0 != differs {
				t.Errorf("%s, keepOthers %t: got a call: %t, and %v, want a difference: %t", name, keepOthers, more, shown, differs)
			}
		}
	}
}
