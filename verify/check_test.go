package verify_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"

	"github.com/google/go-cmp/cmp"
)

// A testHistory is the history that most tests begin with: an accepted commit with a tree, and a later commit that changes
// the tree.
type testHistory struct {
	*testRepo
	first, second  gitsource.ID // trees
	accepted, next gitsource.ID // commits
	base           verify.Base
	acceptedAt     time.Time
}

func newTestHistory(tb testing.TB) testHistory {
	tb.Helper()
	l := newTestRepo(tb)
	s := testHistory{testRepo: l, first: l.tree("web.yaml=1"), second: l.tree("web.yaml=2")}
	s.accepted = l.commit(draft{tree: s.first})
	s.acceptedAt = l.now
	s.next = l.commit(draft{tree: s.second, parents: []gitsource.ID{s.accepted}})
	s.base = verify.Base{Commit: s.accepted, ProvenTime: s.acceptedAt}
	return s
}

// on returns a draft of a commit on top of parent that changes nothing.
func (s testHistory) on(parent gitsource.ID) draft {
	return draft{tree: s.second, parents: []gitsource.ID{parent}}
}

func TestCheckAcceptsSignedCommit(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	got := s.testRepo.accepted(s.policy(), s.next, s.base)
	if want := "main@sha1:" + string(s.next); got.String() != want {
		t.Errorf("String: got %q, want %q", got.String(), want)
	}
	if got.Tree() != s.second || got.Branch() != "main" || !got.ProvenTime().Equal(s.now) {
		t.Errorf("got tree %s, branch %q, time %v, want %s, main, %v", got.Tree(), got.Branch(), got.ProvenTime(), s.second, s.now)
	}
	want := verify.Identity{Signer: "alice", Issuer: alice.Issuer, Subject: alice.Subject}
	if diff := cmp.Diff(want, got.Signer()); diff != "" {
		t.Errorf("signer (-want +got):\n%s", diff)
	}
	commits := got.Commits()
	if len(commits) != 1 || commits[0].ID != s.next || commits[0].Before != s.first || commits[0].Tree != s.second {
		t.Errorf("commits: got %+v, want one from %s to %s", commits, s.first, s.second)
	}
}

func TestRevisionZeroIsInvalid(t *testing.T) {
	t.Parallel()
	var r verify.Revision
	if r.Valid() || strings.Contains(r.String(), "sha1") {
		t.Errorf("got valid %v, %q, want an invalid revision that names no commit", r.Valid(), r)
	}
}

// TestCheckHistory has the rows of the history matrix about which commits of a history must be signed.
func TestCheckHistory(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		make func(s testHistory) (tip, culprit gitsource.ID)
		want map[verify.History]verify.Reason // "" means accepted
	}{
		"unsigned_tip": {
			func(s testHistory) (gitsource.ID, gitsource.ID) { tip := s.unsigned(s.on(s.next)); return tip, tip },
			map[verify.History]verify.Reason{"first-parent": "unsigned", "tip": "unsigned", "all": "unsigned"},
		},
		"forge_merge_tip": {
			func(s testHistory) (gitsource.ID, gitsource.ID) {
				tip := s.foreign(s.on(s.next), pgpSignature)
				return tip, tip
			},
			map[verify.History]verify.Reason{"first-parent": "not-sigstore", "tip": "not-sigstore", "all": "not-sigstore"},
		},
		"ssh_tip": {
			func(s testHistory) (gitsource.ID, gitsource.ID) {
				tip := s.foreign(s.on(s.next), sshSignature)
				return tip, tip
			},
			map[verify.History]verify.Reason{"first-parent": "not-sigstore", "tip": "not-sigstore", "all": "not-sigstore"},
		},
		"unsigned_in_the_middle": {
			func(s testHistory) (gitsource.ID, gitsource.ID) {
				middle := s.unsigned(s.on(s.next))
				return s.commit(s.on(middle)), middle
			},
			map[verify.History]verify.Reason{"first-parent": "unsigned", "tip": "", "all": "unsigned"},
		},
		"wrong_identity_in_the_middle": {
			func(s testHistory) (gitsource.ID, gitsource.ID) {
				d := s.on(s.next)
				d.by = mallory
				middle := s.commit(d)
				return s.commit(s.on(middle)), middle
			},
			map[verify.History]verify.Reason{"first-parent": "wrong-identity", "tip": "", "all": "wrong-identity"},
		},
		"signed_merge_of_unsigned_side": {
			func(s testHistory) (gitsource.ID, gitsource.ID) {
				side := s.unsigned(s.on(s.accepted))
				d := s.on(s.next)
				d.parents = append(d.parents, side)
				return s.commit(d), side
			},
			map[verify.History]verify.Reason{"first-parent": "", "tip": "", "all": "unsigned"},
		},
		"signed_merge_of_signed_side": {
			func(s testHistory) (gitsource.ID, gitsource.ID) {
				d := s.on(s.next)
				d.parents = append(d.parents, s.commit(s.on(s.accepted)))
				return s.commit(d), ""
			},
			map[verify.History]verify.Reason{"first-parent": "", "tip": "", "all": ""},
		},
		"signed_on_top_of_forge_merge": {
			func(s testHistory) (gitsource.ID, gitsource.ID) {
				merge := s.foreign(s.on(s.next), pgpSignature)
				return s.commit(s.on(merge)), merge
			},
			map[verify.History]verify.Reason{"first-parent": "not-sigstore", "tip": "", "all": "not-sigstore"},
		},
		"accepted_becomes_second_parent": {
			func(s testHistory) (gitsource.ID, gitsource.ID) {
				d := s.on(s.commit(draft{}))
				d.parents = append(d.parents, s.next)
				tip := s.commit(d)
				return tip, tip
			},
			map[verify.History]verify.Reason{"first-parent": "not-descendant", "tip": "not-descendant", "all": "not-descendant"},
		},
		"sibling_branch": {
			func(s testHistory) (gitsource.ID, gitsource.ID) {
				tip := s.commit(s.on(s.commit(draft{})))
				return tip, tip
			},
			map[verify.History]verify.Reason{"first-parent": "not-descendant", "tip": "not-descendant", "all": "not-descendant"},
		},
		"side_forked_before_the_base": {
			func(s testHistory) (gitsource.ID, gitsource.ID) {
				d := s.on(s.next)
				d.parents = append(d.parents, s.accepted)
				return s.commit(d), ""
			},
			map[verify.History]verify.Reason{"first-parent": "", "tip": "", "all": ""},
		},
		"shallow": {
			func(s testHistory) (gitsource.ID, gitsource.ID) {
				middle := s.commit(s.on(s.next))
				tip := s.commit(s.on(middle))
				s.forget(middle)
				return tip, middle
			},
			map[verify.History]verify.Reason{"first-parent": "incomplete-history", "tip": "incomplete-history", "all": "incomplete-history"},
		},
	}
	for name, tt := range tests {
		for _, mode := range []verify.History{verify.HistoryFirstParent, verify.HistoryTip, verify.HistoryAll} {
			t.Run(name+"/"+string(mode), func(t *testing.T) {
				s := newTestHistory(t)
				tip, culprit := tt.make(s)
				p := s.policy(func(o *verify.Options) { o.History = mode })
				if want := tt.want[mode]; want != "" {
					s.refused(p, tip, s.base, want, culprit)
				} else {
					s.testRepo.accepted(p, tip, s.base)
				}
			})
		}
	}
}

func TestCheckRefusesRollback(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	s.refused(s.policy(), s.accepted, verify.Base{Commit: s.next, ProvenTime: s.now}, verify.ReasonNotDescendant, s.accepted)
}

func TestCheckSameTipAgain(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	got := s.testRepo.accepted(s.policy(), s.accepted, s.base)
	if len(got.Commits()) != 0 {
		t.Errorf("commits: got %d, want none since the base", len(got.Commits()))
	}
	s.refused(s.policy(denyCommit(s.accepted)), s.accepted, s.base, verify.ReasonDenied, s.accepted)
}

func TestCheckAnchor(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	anchored := func(o *verify.Options) { o.Anchor, o.TrustOnFirstUse = s.accepted, false }
	got := s.testRepo.accepted(s.policy(anchored), s.next, verify.Base{})
	if commits := got.Commits(); len(commits) != 1 || commits[0].Before != s.first {
		t.Errorf("commits: got %+v, want the one after the anchor", commits)
	}
	foreign := s.commit(draft{tree: s.second})
	s.refused(s.policy(anchored), foreign, verify.Base{}, verify.ReasonMissingAnchor, foreign)
}

func TestCheckTrustsUnsignedAnchorByID(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	anchor := s.unsigned(draft{tree: s.first})
	tip := s.commit(s.on(anchor))
	s.testRepo.accepted(s.policy(func(o *verify.Options) { o.Anchor, o.TrustOnFirstUse = anchor, false }), tip, verify.Base{})
	s.refused(s.policy(func(o *verify.Options) { o.Anchor, o.TrustOnFirstUse = anchor, false }), anchor, verify.Base{}, verify.ReasonUnsigned, anchor)
}

func TestCheckFirstUse(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	got := s.testRepo.accepted(s.policy(), s.next, verify.Base{})
	if commits := got.Commits(); len(commits) != 1 || commits[0].Before != "" {
		t.Errorf("commits: got %+v, want the tip alone, measured against the empty tree", commits)
	}
}

// TestCheckFirstUseNeedsRoleChange: on first use, a signer without the role change cannot introduce a tree that no other
// signer signed.
func TestCheckFirstUseNeedsRoleChange(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	d := s.on(s.next)
	d.by, d.message = bob, "approve\n\nGitops-Approve: 1234"
	tip := s.commit(d)
	withBob := addSigner(approver(bob))
	got := s.testRepo.accepted(s.policy(withBob), tip, verify.Base{})
	if len(got.Commits()) != 2 || got.Commits()[0].ID != s.next {
		t.Errorf("commits: got %+v, want the change and the approval on it", got.Commits())
	}

	d.parents = []gitsource.ID{s.unsigned(draft{tree: s.second})}
	smuggled := s.commit(d)
	s.refused(s.policy(withBob), smuggled, verify.Base{}, verify.ReasonUnsigned, d.parents[0])
	d.parents = nil
	orphan := s.commit(d)
	s.refused(s.policy(withBob), orphan, verify.Base{}, verify.ReasonMissingRole, orphan)
}

func TestCheckRewriteCountsForOneTip(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	other := s.commit(draft{tree: s.second})
	s.refused(s.policy(), other, s.base, verify.ReasonNotDescendant, other)
	allowed := s.base
	allowed.Rewrite = other
	got := s.testRepo.accepted(s.policy(), other, allowed)
	if len(got.Commits()) != 0 {
		t.Errorf("commits: got %+v, want none: a rewritten tip gives no orders", got.Commits())
	}
	third := s.commit(draft{tree: s.first})
	s.refused(s.policy(), third, allowed, verify.ReasonNotDescendant, third)
	bare := s.unsigned(draft{tree: s.first})
	s.refused(s.policy(), bare, verify.Base{Commit: s.accepted, Rewrite: bare}, verify.ReasonUnsigned, bare)
}

func TestCheckProvenTime(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		lag  time.Duration // how much before the base the tip was proven
		want verify.Reason
	}{
		"within_clock_skew": {lag: 5 * time.Minute},
		"beyond_clock_skew": {lag: 5*time.Minute + time.Second, want: verify.ReasonTimeWentBack},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newTestHistory(t)
			d := s.on(s.accepted)
			d.sign.At = s.acceptedAt.Add(-tt.lag)
			tip := s.commit(d)
			if tt.want == "" {
				s.testRepo.accepted(s.policy(), tip, s.base)
				return
			}
			s.refused(s.policy(), tip, s.base, tt.want, tip)
			s.refused(s.policy(), s.accepted, verify.Base{Commit: s.accepted, ProvenTime: s.acceptedAt.Add(tt.lag)}, tt.want, s.accepted)
		})
	}
}

func TestCheckProvenTimeInsideRange(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	d := s.on(s.next)
	d.sign.At = s.now.Add(time.Hour)
	late := s.commit(d)
	back := s.commit(s.on(late))
	s.refused(s.policy(), back, s.base, verify.ReasonTimeWentBack, back)
}

// TestCheckNotBefore is what is left when the agent lost its state and the forge serves an old commit.
func TestCheckNotBefore(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	at := func(limit time.Time) *verify.Policy {
		return s.policy(func(o *verify.Options) { o.NotBefore = limit })
	}
	s.refused(at(s.now), s.accepted, verify.Base{}, verify.ReasonTooOld, s.accepted)
	s.testRepo.accepted(at(s.now), s.next, verify.Base{})
	s.refused(at(s.now.Add(time.Second)), s.next, s.base, verify.ReasonTooOld, s.next)
}

func TestCheckLimitsRange(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	tip := s.accepted
	for i := range 1001 {
		d := s.on(tip)
		d.message = fmt.Sprintf("commit %d", i)
		tip = s.unsigned(d)
	}
	s.refused(s.policy(), tip, s.base, verify.ReasonTooManyCommits, tip)
}

// TestCheckLimitsCommits: a commit object above the limit is refused.
func TestCheckLimitsCommits(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	d := s.on(s.next)
	d.message = strings.Repeat("x", 1<<20)
	tip := s.unsigned(d)
	s.refused(s.policy(), tip, s.base, verify.ReasonTooLarge, tip)
}

// TestCheckTreesThatCannotBeCompared: a commit of a signer with paths is refused if its change cannot be computed.
func TestCheckTreesThatCannotBeCompared(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tree func(s testHistory) gitsource.ID
		want verify.Reason
	}{
		"climbs":    {func(s testHistory) gitsource.ID { return s.tree("...=1", "..=1") }, verify.ReasonOutOfScope},
		"too_large": {func(s testHistory) gitsource.ID { return s.object("tree", make([]byte, 17<<20)) }, verify.ReasonOutOfScope},
		"missing": {func(s testHistory) gitsource.ID {
			id := s.tree("web.yaml=9")
			s.forget(id)
			return id
		}, verify.ReasonIncompleteHistory},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newTestHistory(t)
			d := s.on(s.next)
			d.tree = tt.tree(s)
			tip := s.commit(d)
			s.refused(s.policy(onlySigner(signer(func(s *verify.Signer) { s.Paths = []string{"web.yaml"} }))), tip, s.base, tt.want, tip)
		})
	}
}

// TestCheckBaseUnderAnotherID: a remote serves the base with another valid signature, so with another id, before or after it serves the commit itself. Both
// are the same base.
func TestCheckBaseUnderAnotherID(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	again := s.rewrapped(s.accepted)
	base := verify.Base{Commit: again, ProvenTime: s.acceptedAt}
	if got := s.testRepo.accepted(s.policy(), s.accepted, base); got.Commit() != s.accepted || len(got.Commits()) != 0 {
		t.Errorf("the base itself: got %s with %d commits, want %s with none", got.Commit(), len(got.Commits()), s.accepted)
	}
	got := s.testRepo.accepted(s.policy(), s.next, base)
	if commits := got.Commits(); len(commits) != 1 || commits[0].ID != s.next {
		t.Errorf("a commit above: got %v, want the commit %s", commits, s.next)
	}
	merge := s.on(s.next)
	merge.parents = append(merge.parents, s.accepted)
	s.testRepo.accepted(s.policy(history(verify.HistoryAll)), s.commit(merge), base)

	s.forget(again) // then only its id is known
	s.refused(s.policy(), s.next, base, verify.ReasonNotDescendant, s.next)
}

// rewrapped stores a commit by alice with the same payload and another signature, and returns its id.
func (s testHistory) rewrapped(id gitsource.ID) gitsource.ID {
	s.Helper()
	commit, err := s.repo.Commit(s.Context(), id)
	if err != nil {
		s.Fatal(err)
	}
	signature, err := s.sig.Sign(payloadOf(commit.Raw), alice, sigtest.SignOptions{At: s.policy().Audit(s.Context(), s.repo, id).ProvenTime})
	if err != nil {
		s.Fatal(err)
	}
	again := s.object("commit", withSignature(s.testRepo, commit.Raw, signature))
	if again == id {
		s.Fatalf("got the id %s again, want another one", id)
	}
	return again
}

func TestCheckTarget(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		message string
		want    verify.Reason
	}{
		"right":              {"change\n\nGitops-Target: lab/main", ""},
		"beside_others":      {"change\n\nSigned-off-by: Alice <alice@lab.test>\nGitops-Target: lab/main", ""},
		"absent":             {"change", verify.ReasonWrongTarget},
		"other_branch":       {"change\n\nGitops-Target: lab/feature", verify.ReasonWrongTarget},
		"other_cluster":      {"change\n\nGitops-Target: home/main", verify.ReasonWrongTarget},
		"twice":              {"change\n\nGitops-Target: lab/main\nGitops-Target: lab/main", verify.ReasonWrongTarget},
		"not_last_paragraph": {"change\n\nGitops-Target: lab/main\n\nand more", verify.ReasonWrongTarget},
		"in_prose":           {"change\n\nthis is for\nGitops-Target: lab/main", verify.ReasonWrongTarget},
		"only_subject":       {"Gitops-Target: lab/main", verify.ReasonWrongTarget},
		"other_case":         {"change\n\ngitops-target: lab/main", verify.ReasonWrongTarget},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newTestHistory(t)
			d := s.on(s.next)
			d.message = tt.message
			tip := s.commit(d)
			bound := s.policy(func(o *verify.Options) { o.Binding = verify.BindingTrailer })
			if tt.want != "" {
				s.refused(bound, tip, s.base, tt.want, tip)
			} else {
				s.testRepo.accepted(bound, tip, s.base)
			}
			s.testRepo.accepted(s.policy(), tip, s.base) // without the binding, an unreviewed branch counts
		})
	}
}

func TestCheckIsDeterministic(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	first := s.unsigned(s.on(s.next))
	tip := first
	for range 20 {
		tip = s.unsigned(s.on(tip))
	}
	for range 10 {
		s.refused(s.policy(), tip, s.base, verify.ReasonUnsigned, first)
	}
}

func TestCheckSeparatesReadErrors(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.policy().Check(ctx, s.repo, s.next, s.base)
	if err == nil || isRejected(err) {
		t.Errorf("check after cancelling: got %v, want an error that is not a refusal", err)
	}
}

func TestFirstParents(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	third := s.commit(s.on(s.next))
	got, err := verify.FirstParents(t.Context(), s.repo, s.accepted, third, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]gitsource.ID{s.next, third}, got); diff != "" {
		t.Errorf("path (-want +got):\n%s", diff)
	}
	if all, err := verify.FirstParents(t.Context(), s.repo, "", third, 10, nil); err != nil || len(all) != 3 {
		t.Errorf("from the beginning: got %v, %v, want 3 commits", all, err)
	}
	if _, err := verify.FirstParents(t.Context(), s.repo, s.accepted, third, 1, nil); !isReason(err, verify.ReasonTooManyCommits) {
		t.Errorf("beyond the limit: got %v, want %s", err, verify.ReasonTooManyCommits)
	}
	if none, err := verify.FirstParents(t.Context(), s.repo, third, third, 10, nil); err != nil || len(none) != 0 {
		t.Errorf("of nothing: got %v, %v, want none", none, err)
	}
}
