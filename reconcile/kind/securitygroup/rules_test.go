package securitygroup

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// TestFinalIsWhatTheCallsLeave compares the rules at the end with those that all calls leave one after the other, each planned from the text of a reading.
func TestFinalIsWhatTheCallsLeave(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	draw := func() []guest.FirewallRule {
		rules := make([]guest.FirewallRule, random.IntN(6))
		for i := range rules {
			rules[i] = guest.FirewallRule{
				Type: "in", Action: []string{"ACCEPT", "DROP"}[random.IntN(2)], Source: fmt.Sprintf("10.0.0.%d", random.IntN(3)), Comment: []string{"", "web"}[random.IntN(2)], Enabled: random.IntN(4) > 0,
			}
		}
		return rules
	}
	enabled := func(rules []guest.FirewallRule) []guest.FirewallRule {
		for i := range rules {
			rules[i].Enabled = true
		}
		return rules
	}
	for range 3000 {
		d := kind.Desired{Kind: Name, ID: "web", Keeps: random.IntN(4) > 0, Keys: []kind.Intent{{Key: keyRules, Text: kind.RulesText(enabled(draw()))}}}
		first := cluster.Object{ID: "web", Keys: map[string]string{keyRules: kind.RulesText(draw())}}
		live, calls := first, 0
		for ; calls < 100; calls++ {
			call, more := next(d, live)
			if !more {
				break
			}
			live.Keys = map[string]string{keyRules: call.After}
		}
		if got := final(d, first); got != live.Keys[keyRules] || calls == 100 {
			t.Fatalf("%+v from %v: got %s, want %s after %d calls", d, first.Keys, got, live.Keys[keyRules], calls)
		}
	}
}

// BenchmarkFinal follows the calls of a group that gets rules beside 20 others that stay. Each cycle does this while a guest guards its firewall and the group differs.
func BenchmarkFinal(b *testing.B) {
	for _, n := range []int{20, 100} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			rules := func(network, n int) string {
				list := make([]guest.FirewallRule, n)
				for i := range list {
					list[i] = guest.FirewallRule{Type: "in", Action: "ACCEPT", Source: fmt.Sprintf("10.%d.0.%d", network, i), Enabled: true}
				}
				return kind.RulesText(list)
			}
			d := kind.Desired{Kind: Name, ID: "web", Keeps: true, Keys: []kind.Intent{{Key: keyRules, Text: rules(0, n)}}}
			live := cluster.Object{ID: "web", Keys: map[string]string{keyRules: rules(9, 20)}}
			for b.Loop() {
				final(d, live)
			}
		})
	}
}
