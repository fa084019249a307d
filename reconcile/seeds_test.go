package reconcile_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"gitops-agent/internal/racecheck"
)

// seeds are the random histories that a test runs; under the race detector fewer. .ci/long runs more of them, with the flags -NAME-seeds and -NAME-first.
type seeds struct {
	name  string
	count *int
	first *uint64
}

func newSeeds(name string, count int, what string) seeds {
	return seeds{name, flag.Int(name+"-seeds", racecheck.Rounds(count), "number of "+what), flag.Uint64(name+"-first", 0, "seed of the first of them")}
}

// each runs a test for every seed, which may run it in parallel. Afterwards it prints how many there were, with the counts that summary returns. The
// summary fails the test if the histories did too little to prove anything.
func (s seeds) each(t *testing.T, run func(t *testing.T, seed uint64), summary func(t *testing.T) string) {
	t.Helper()
	t.Cleanup(func() {
		fmt.Fprintf(os.Stderr, "%s seeds: %d from seed %d: %s\n", s.name, *s.count, *s.first, summary(t))
	})
	for i := range *s.count {
		seed := *s.first + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { run(t, seed) })
	}
}
