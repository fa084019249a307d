package pvesim

import "strings"

// major is the release that the cluster runs, 9 or 8. What differs between them is asked for here and nowhere else.
func (s *Sim) major() int {
	n, _, _ := strings.Cut(s.opts.Version, ".")
	return atoi(n)
}
