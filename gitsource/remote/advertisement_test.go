package remote

import (
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// TestMissingBranch says what a remote has in place of a branch.
func TestMissingBranch(t *testing.T) {
	t.Parallel()
	at := plumbing.NewHash("0123456789012345678901234567890123456789")
	for want, refs := range map[string][]string{
		`the remote has no branch "main": it has no branch at all`:                              {"HEAD", "refs/notes/main"},
		`the remote has no branch "main": it has no branch at all; a tag has this name`:         {"refs/tags/main"},
		`the remote has no branch "main": it has dev, main/2`:                                   {"refs/heads/main/2", "refs/heads/dev", "refs/tags/v1"},
		`the remote has no branch "main": it has a, b, c, d, e and 2 more; a tag has this name`: {"refs/heads/g", "refs/heads/f", "refs/heads/e", "refs/heads/d", "refs/heads/c", "refs/heads/b", "refs/heads/a", "refs/tags/main"},
	} {
		a := Advertisement{Refs: map[string]plumbing.Hash{}}
		for _, ref := range refs {
			a.Refs[ref] = at
		}
		if _, err := a.Branch("main"); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
