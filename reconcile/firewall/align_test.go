package firewall

import (
	"math/rand/v2"
	"reflect"
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
	for i := range want {
		for j := range seen {
			if p.at[i] < 0 && p.staged[i] < 0 && !p.taken[j] && seen[j] == want[i].Disabled() {
				p.staged[i], p.taken[j] = j, true
			}
		}
	}
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
