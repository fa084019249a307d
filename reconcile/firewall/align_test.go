package firewall

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gitops-agent/reconcile/guest"
)

// plainAlign is align without numbers: it compares the rules themselves.
func plainAlign(want, seen []guest.FirewallRule) places {
	p := places{at: make([]int, len(want)), staged: make([]int, len(want)), taken: map[int]bool{}}
	isSame := func(i, j int) bool { return want[i].Effect() == seen[j].Effect() && !isBlock(seen[j]) }
	var common func(i, j int) int
	common = func(i, j int) int {
		switch {
		case i == len(want) || j == len(seen):
			return 0
		case isSame(i, j):
			return 1 + common(i+1, j+1)
		}
		return max(common(i+1, j), common(i, j+1))
	}
	for i := range want {
		p.at[i], p.staged[i] = -1, -1
	}
	for i, j := 0, 0; i < len(want) && j < len(seen); {
		switch {
		case isSame(i, j) && common(i, j) == 1+common(i+1, j+1):
			p.at[i], p.taken[j] = j, true
			i, j = i+1, j+1
		case common(i+1, j) >= common(i, j+1):
			i++
		default:
			j++
		}
	}
	p.preferExact(want, seen)
	for i := range want {
		for j := range seen {
			if p.at[i] < 0 && p.staged[i] < 0 && !p.taken[j] && seen[j] == want[i].Disabled() {
				p.staged[i], p.taken[j] = j, true
			}
		}
	}
	p.exchangeCopies(seen)
	return p
}

// TestAlignComparesRules compares align with its plain form, on rules that are often the same, without effect, or of the agent's own that block.
func TestAlignComparesRules(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	draw := func() []guest.FirewallRule {
		rules := make([]guest.FirewallRule, random.IntN(7))
		for i := range rules {
			rules[i] = guest.FirewallRule{Type: "in", Action: []string{accept, "DROP"}[random.IntN(2)], Comment: []string{"", "web"}[random.IntN(2)], Enabled: random.IntN(3) > 0}
			if random.IntN(6) == 0 {
				rules[i] = blocks[random.IntN(len(blocks))]
				rules[i].Enabled = random.IntN(2) == 0
			}
		}
		return rules
	}
	for range 20_000 {
		want, seen := draw(), draw()
		if got, plain := align(want, seen), plainAlign(want, seen); !reflect.DeepEqual(got, plain) {
			t.Fatalf("got %+v for %v among %v, want %+v", got, want, seen, plain)
		}
	}
}

// TestRuleWithoutEffectBesideItsDouble wants a rule without effect that does what another wanted rule will do: the copy of the other one is not taken for it, and the calls end.
func TestRuleWithoutEffectBesideItsDouble(t *testing.T) {
	rule := func(action, source, comment string, enabled bool) guest.FirewallRule {
		return guest.FirewallRule{Type: "in", Action: action, Source: source, Comment: comment, Enabled: enabled}
	}
	for name, comment := range map[string]string{"another_comment": "", "the_same_comment": "web"} {
		t.Run(name, func(t *testing.T) {
			want := &guest.FirewallWanted{KeepOthers: true, Rules: []guest.FirewallRule{
				rule("DROP", "10.0.0.2", "web", true), rule("DROP", "10.0.0.2", comment, false), rule("DROP", "10.0.0.0", "web", true),
			}}
			other := rule("ACCEPT", "10.0.0.1", "", true)
			seen := &guest.FirewallSeen{Rules: []guest.FirewallRule{other}}
			for range 12 {
				call, more := Next(want, seen)
				if !more {
					break
				}
				seen = &guest.FirewallSeen{Rules: RulesAfter(seen.Rules, call)}
			}
			if final := append(slices.Clone(want.Rules), other); !slices.Equal(seen.Rules, final) {
				t.Errorf("got the rules %v, want %v", seen.Rules, final)
			}
		})
	}
}
