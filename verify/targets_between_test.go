package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// The commits need no signature, so what is kept of them is bounded.
func TestTargetsBetween(t *testing.T) {
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
	commits, targets, err := verify.TargetsBetween(t.Context(), l.repo, head, base)
	if err != nil {
		t.Fatal(err)
	}
	if commits != 3 || len(targets) != 100 || !strings.HasPrefix(targets[0], "c1-") {
		t.Errorf("got %d commits and %d targets from %q on, want 3 and the first 100 of the newest two", commits, len(targets), targets[0])
	}
}
