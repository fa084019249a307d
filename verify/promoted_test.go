package verify_test

import (
	"errors"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// TestCheckPromoted: a revision promotes only a commit of its history with the same tree.
func TestCheckPromoted(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	beside := s.on(s.accepted)
	beside.message = "beside"
	other := s.commit(beside)
	revision := s.testRepo.accepted(s.policy(), s.commit(s.on(s.next)), s.base)
	for id, want := range map[gitsource.ID]error{revision.Commit(): nil, s.next: nil, s.accepted: verify.ErrOtherTree, other: verify.ErrNoAncestor} {
		if err := revision.CheckPromoted(t.Context(), s.repo, id); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", id, err, want)
		}
	}
}
