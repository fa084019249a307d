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
	wanted, live := effectsOf(want, seen)
	lengths := commonLengths(wanted, live)
	for i := range want {
		p.at[i], p.staged[i] = -1, -1
	}
	for i, j := 0, 0; i < len(want) && j < len(seen); {
		switch {
		case wanted[i] == live[j] && lengths[i][j] == 1+lengths[i+1][j+1]:
			p.at[i], p.taken[j] = j, true
			i, j = i+1, j+1
		case lengths[i+1][j] >= lengths[i][j+1]:
			i++
		default:
			j++
		}
	}
	p.preferExact(want, seen)
	free := make(map[guest.FirewallRule][]int) // positions that are not taken, by their rules
	for j, r := range seen {
		if !p.taken[j] && !r.Enabled {
			free[r] = append(free[r], j)
		}
	}
	for i, r := range want {
		if list := free[r.Disabled()]; p.at[i] < 0 && len(list) > 0 {
			p.staged[i], p.taken[list[0]], free[r.Disabled()] = list[0], true, list[1:]
		}
	}
	p.exchangeCopies(seen)
	return p
}

// preferExact gives each wanted rule the observed one with its comment and log, where several do the same and are possible. A rule without effect may otherwise be taken
// for the copy of another one, whose copy is then missing.
func (p places) preferExact(want, seen []guest.FirewallRule) {
	before := -1
	for i, at := range p.at {
		if at < 0 {
			continue
		}
		if seen[at] != want[i] {
			for j := before + 1; j < p.nextPlaced(i, len(seen)); j++ {
				if seen[j] == want[i] && !p.taken[j] && !isBlock(seen[j]) {
					delete(p.taken, at)
					p.at[i], p.taken[j], at = j, true, j
					break
				}
			}
		}
		before = at
	}
}

// exchangeCopies gives a copy that has to be in front of an equal rule the place of that rule. Moving it in front would change nothing, for ever.
func (p places) exchangeCopies(seen []guest.FirewallRule) {
	for i, copied := range p.staged {
		if copied < 0 {
			continue
		}
		for k := i + 1; k < len(p.at); k++ {
			if at := p.at[k]; at >= 0 {
				if at < copied && seen[at] == seen[copied] && copied < p.nextPlaced(k, len(seen)) {
					p.at[k], p.staged[i] = copied, at
				}
				break
			}
		}
	}
}

// nextPlaced returns the position of the first wanted rule behind i that is at its place, or end.
func (p places) nextPlaced(i, end int) int {
	for _, at := range p.at[i+1:] {
		if at >= 0 {
			return at
		}
	}
	return end
}

// effectsOf numbers the effects of rules: an observed rule has the number of a wanted one if it does what that one does. The rules that block are not of the manifest,
// whatever they do, and have no number of a wanted rule. Numbers are compared much faster than rules.
func effectsOf(want, seen []guest.FirewallRule) (wanted, live []int) {
	const block = -1
	numbers := make(map[guest.FirewallRule]int, len(want)+len(seen))
	number := func(r guest.FirewallRule) int {
		n, known := numbers[r.Effect()]
		if !known {
			n = len(numbers)
			numbers[r.Effect()] = n
		}
		return n
	}
	for _, r := range want {
		wanted = append(wanted, number(r))
	}
	for _, r := range seen {
		if isBlock(r) {
			live = append(live, block)
		} else {
			live = append(live, number(r))
		}
	}
	return wanted, live
}

// commonLengths returns the length of the longest common list of want from i on and seen from j on.
func commonLengths(want, seen []int) [][]int {
	lengths := make([][]int, len(want)+1)
	for i := range lengths {
		lengths[i] = make([]int, len(seen)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(seen) - 1; j >= 0; j-- {
			if want[i] == seen[j] {
				lengths[i][j] = 1 + lengths[i+1][j+1]
			} else {
				lengths[i][j] = max(lengths[i+1][j], lengths[i][j+1])
			}
		}
	}
	return lengths
}
