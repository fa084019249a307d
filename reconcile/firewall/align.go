package firewall

import (
	"gitops-agent/reconcile/guest"
)

// places says where the wanted rules are among the observed ones, by their positions; -1 is nowhere.
type places struct {
	at     []int        // of a wanted rule: the position at which it is, and stays
	staged []int        // of a wanted rule that is not at its place: the position of its copy that has no effect
	taken  map[int]bool // positions in at or staged
}

// align finds the longest common list of wanted and observed rules, by their effects, and then the copies of the other wanted rules.
func align(want, seen []guest.FirewallRule) places {
	p := places{at: make([]int, len(want)), staged: make([]int, len(want)), taken: map[int]bool{}}
	lengths := commonLengths(want, seen)
	for i := range want {
		p.at[i], p.staged[i] = -1, -1
	}
	for i, j := 0, 0; i < len(want) && j < len(seen); {
		switch {
		case isSame(want[i], seen[j]) && lengths[i][j] == 1+lengths[i+1][j+1]:
			p.at[i], p.taken[j] = j, true
			i, j = i+1, j+1
		case lengths[i+1][j] >= lengths[i][j+1]:
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

// isSame reports whether an observed rule does what a wanted one does. The rules that block are not of the manifest, whatever they do.
func isSame(want, seen guest.FirewallRule) bool {
	return want.Effect() == seen.Effect() && !isBlock(seen)
}

// commonLengths returns the length of the longest common list of want from i on and seen from j on.
func commonLengths(want, seen []guest.FirewallRule) [][]int {
	lengths := make([][]int, len(want)+1)
	for i := range lengths {
		lengths[i] = make([]int, len(seen)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(seen) - 1; j >= 0; j-- {
			if isSame(want[i], seen[j]) {
				lengths[i][j] = 1 + lengths[i+1][j+1]
			} else {
				lengths[i][j] = max(lengths[i+1][j], lengths[i][j+1])
			}
		}
	}
	return lengths
}
