package manifest

import "slices"

// cycles returns the cycles among names, each once. A cycle begins with the name that comes first in the list.
func cycles(names []string, next func(string) []string) [][]string {
	const (
		open = iota + 1
		done
	)
	var out [][]string
	var trail []string
	state := map[string]int{}
	var visit func(name string)
	visit = func(name string) {
		state[name] = open
		trail = append(trail, name)
		for _, n := range next(name) {
			switch state[n] {
			case open:
				out = append(out, slices.Clone(trail[slices.Index(trail, n):]))
			case done:
			default:
				visit(n)
			}
		}
		trail = trail[:len(trail)-1]
		state[name] = done
	}
	for _, name := range names {
		if state[name] == 0 {
			visit(name)
		}
	}
	return out
}
