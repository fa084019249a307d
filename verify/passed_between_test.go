package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// The commits need no signature, so what is kept of them is bounded.
func TestPassedBetween(t *testing.T) {
	t.Parallel()
	l := newTestRepo(t)
	base := l.commit(draft{})
	head := base
	for i := range 3 {
		var trailers strings.Builder
		for j := range 60 {
			fmt.Fprintf(&trailers, "Gitops-Target: c%d-%d/main\n", i, j)
		}
		head = l.commit(draft{parents: []gitsource.ID{head}, message: "change\n\n" + trailers.String()})
	}
	passed, err := verify.PassedBetween(t.Context(), l.repo, head, base)
	if err != nil {
		t.Fatal(err)
	}
	if targets := passed.Targets; passed.Commits != 3 || len(targets) != 100 || !strings.HasPrefix(targets[0], "c1-") {
		t.Errorf("got %d commits and %d targets from %q on, want 3 and the first 100 of the newest two", passed.Commits, len(targets), targets[0])
	}
	if n := passed.Newest; len(n) != 3 || n[0].ID != head || len(n[0].Targets) != 60 || len(n[1].Targets) != 40 || len(n[2].Targets) != 0 {
		t.Errorf("got the newest commits %v, want three from %s on with the targets that are kept", n, head)
	}
}
