package verify_test

import (
	"fmt"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// chain puts n commits without a signature onto parent and returns them, oldest first.
func (s testHistory) chain(parent gitsource.ID, n int) []gitsource.ID {
	s.Helper()
	var ids []gitsource.ID
	for i := range n {
		d := s.on(parent)
		d.message = fmt.Sprintf("commit %d", i)
		parent = s.unsigned(d)
		ids = append(ids, parent)
	}
	return ids
}

// TestCheckLimitsSideBranches: commits of side branches count towards the thousand commits that may be accepted at once.
func TestCheckLimitsSideBranches(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	side := s.chain(s.accepted, 999)
	merge := s.on(s.next)
	merge.parents = append(merge.parents, side[998])
	p := s.policy(history(verify.HistoryAll))
	s.refused(p, s.commit(merge), s.base, verify.ReasonTooManyCommits, side[0]) // 1,001 with the merge and the commit below it
	merge.parents[1] = side[997]
	s.refused(p, s.commit(merge), s.base, verify.ReasonUnsigned, side[997])
}

// TestAncestorsAreLimited: the comparison with side branches reads a limited number of ancestors.
func TestAncestorsAreLimited(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	tip := s.chain(s.accepted, 3)[2] // 4 commits with the accepted one
	if err := verify.ReadAncestors(t.Context(), s.repo, tip, 4); err != nil {
		t.Errorf("at the limit: got %v, want no error", err)
	}
	if err := verify.ReadAncestors(t.Context(), s.repo, tip, 3); !isReason(err, verify.ReasonTooManyCommits) {
		t.Errorf("beyond the limit: got %v, want %s", err, verify.ReasonTooManyCommits)
	}
}

// TestSealedIsLimited: a seal covers a limited number of commits.
func TestSealedIsLimited(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	tip := s.chain(s.accepted, 3)[2]
	if got, err := verify.SealedCommits(t.Context(), s.repo, s.accepted, tip, 3); err != nil || len(got) != 3 {
		t.Errorf("at the limit: got %v and %v, want 3 commits", got, err)
	}
	if got, err := verify.SealedCommits(t.Context(), s.repo, s.accepted, tip, 2); !isReason(err, verify.ReasonTooManyCommits) {
		t.Errorf("beyond the limit: got %v and %v, want %s", got, err, verify.ReasonTooManyCommits)
	}
}
