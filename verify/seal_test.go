package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// sealer adds bob as a signer with only the role seal.
func sealer(paths ...string) func(*verify.Options) {
	return addSigner(verify.Signer{
		Name: "sealer", Issuer: bob.Issuer, Subject: bob.Subject, May: []verify.Role{verify.RoleSeal}, Paths: paths,
	})
}

func history(mode verify.History) func(*verify.Options) {
	return func(o *verify.Options) { o.History = mode }
}

// seal returns a draft by bob on top of to that seals the commits after from.
func (s testHistory) seal(from, to gitsource.ID) draft {
	d := s.on(to)
	d.by, d.message = bob, fmt.Sprintf("reviewed\n\nGitops-Seal: %s..%s", from, to)
	return d
}

// A sealHistory is a testHistory in which two unsigned commits follow the commit next. The second one changes a file.
type sealHistory struct {
	testHistory
	loose, changed gitsource.ID
}

func newSealHistory(t *testing.T) sealHistory {
	t.Helper()
	s := sealHistory{testHistory: newTestHistory(t)}
	d := s.on(s.next)
	s.loose = s.unsigned(d)
	d.parents, d.tree = []gitsource.ID{s.loose}, s.tree("web.yaml=3")
	s.changed = s.unsigned(d)
	s.second = d.tree
	return s
}

func TestSealCoversItsRange(t *testing.T) {
	t.Parallel()
	s := newSealHistory(t)
	tip := s.commit(s.seal(s.next, s.changed))
	for _, mode := range []verify.History{verify.HistoryFirstParent, verify.HistoryAll} {
		commits := s.testRepo.accepted(s.policy(sealer(), history(mode)), tip, s.base).Commits()
		if len(commits) != 2 || commits[0].ID != s.next || commits[1].ID != tip {
			t.Fatalf("%s: got commits %+v, want the signed one and the seal", mode, commits)
		}
		seal := commits[1]
		if diff := cmp.Diff([]gitsource.ID{s.loose, s.changed}, seal.Sealed); diff != "" {
			t.Errorf("%s: sealed (-want +got):\n%s", mode, diff)
		}
		if seal.Before != commits[0].Tree || seal.Tree != s.second || seal.Signer != "sealer" || seal.Ignored != "" {
			t.Errorf("%s: got %+v, want the seal measured against the tree before the sealed commits", mode, seal)
		}
	}
	commits := s.testRepo.accepted(s.policy(sealer()), tip, s.base).Commits()
	commits[1].Sealed[0] = "changed by a caller"
	s.refused(s.policy(), tip, s.base, verify.ReasonUnsigned, s.loose)
}

// TestSealedBy: an audit finds the sealed commits for every begin of its range. Seals of other signers do not count.
func TestSealedBy(t *testing.T) {
	t.Parallel()
	s := newSealHistory(t)
	seal := s.commit(s.seal(s.next, s.changed))
	tip := s.commit(s.on(seal))
	want := map[gitsource.ID]gitsource.ID{s.loose: seal, s.changed: seal}
	for _, from := range []gitsource.ID{"", s.accepted, s.next} {
		got, err := s.policy(sealer(), history(verify.HistoryTip)).SealedBy(t.Context(), s.repo, from, tip, 100)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("from %q: got %v, sealed (-want +got):\n%s", from, err, diff)
		}
	}
	if got, err := s.policy().SealedBy(t.Context(), s.repo, s.accepted, tip, 100); err != nil || len(got) != 0 {
		t.Errorf("without the sealer: got %v and %v, want nothing sealed", got, err)
	}
	foreign := s.commit(draft{})
	if _, err := s.policy(sealer()).SealedBy(t.Context(), s.repo, s.accepted, foreign, 100); !isReason(err, verify.ReasonNotDescendant) {
		t.Errorf("another history: got %v, want %s", err, verify.ReasonNotDescendant)
	}
}

// TestSealBelowTheTip: commits above a seal need no signer with the role seal.
func TestSealBelowTheTip(t *testing.T) {
	t.Parallel()
	s := newSealHistory(t)
	tip := s.commit(s.on(s.commit(s.seal(s.next, s.changed))))
	s.testRepo.accepted(s.policy(sealer()), tip, s.base)
	loose := s.unsigned(s.on(tip))
	above := s.commit(s.on(loose))
	s.refused(s.policy(sealer()), above, s.base, verify.ReasonUnsigned, loose)
	s.testRepo.accepted(s.policy(sealer()), s.commit(s.seal(tip, above)), s.base)
}

// TestSealThatBeginsBelowTheBase: a seal may cover commits that were accepted before.
func TestSealThatBeginsBelowTheBase(t *testing.T) {
	t.Parallel()
	s := newSealHistory(t)
	tip := s.commit(s.seal(s.accepted, s.changed))
	commits := s.testRepo.accepted(s.policy(sealer()), tip, verify.Base{Commit: s.loose}).Commits()
	if len(commits) != 1 || !slices.Equal(commits[0].Sealed, []gitsource.ID{s.changed}) {
		t.Errorf("got %+v, want the seal to cover only the new commit", commits)
	}
	s.testRepo.accepted(s.policy(sealer()), tip, s.base)
}

// TestSealIsBoundToPaths: the sealed change must be inside the paths of the seal's signer.
func TestSealIsBoundToPaths(t *testing.T) {
	t.Parallel()
	s := newSealHistory(t)
	tip := s.commit(s.seal(s.next, s.changed))
	s.refused(s.policy(sealer("db")), tip, s.base, verify.ReasonOutOfScope, tip)
	s.testRepo.accepted(s.policy(sealer("web.yaml")), tip, s.base)
}

// TestSealDoesNotOverrideDenyList: a sealed commit on the deny list is refused, on the path and on a side branch.
func TestSealDoesNotOverrideDenyList(t *testing.T) {
	t.Parallel()
	s := newSealHistory(t)
	side := s.unsigned(s.on(s.accepted))
	merge := s.on(s.changed)
	merge.parents = append(merge.parents, side)
	merged := s.unsigned(merge)
	tip := s.commit(s.seal(s.next, merged))
	s.testRepo.accepted(s.policy(sealer(), history(verify.HistoryAll)), tip, s.base)
	s.refused(s.policy(sealer(), denyCommit(s.loose)), tip, s.base, verify.ReasonDenied, s.loose)
	s.refused(s.policy(sealer(), denyCommit(side), history(verify.HistoryAll)), tip, s.base, verify.ReasonDenied, side)
}

// TestSealStopsAtItsRange: with HistoryAll, a seal covers the side branches that its range brought in, and no side branches
// from below the range.
func TestSealStopsAtItsRange(t *testing.T) {
	t.Parallel()
	s := newSealHistory(t)
	side := s.unsigned(s.on(s.accepted))
	merge := s.on(s.next)
	merge.parents = append(merge.parents, side)
	merged := s.commit(merge)
	tip := s.commit(s.seal(merged, s.unsigned(s.on(merged))))
	s.testRepo.accepted(s.policy(sealer()), tip, s.base)
	s.refused(s.policy(sealer(), history(verify.HistoryAll)), tip, s.base, verify.ReasonUnsigned, side)
}

// TestSealedOrdersDoNotCount: the signer of a sealed commit is not verified, so its orders do not count.
func TestSealedOrdersDoNotCount(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	d := s.on(s.next)
	d.message = "release\n\nGitops-Approve: 12ab"
	order := s.commit(d)
	tip := s.commit(s.seal(s.next, order))
	for _, c := range s.testRepo.accepted(s.policy(sealer()), tip, s.base).Commits() {
		if len(c.Orders) != 0 {
			t.Errorf("%s: got orders %+v, want none from a sealed commit", c.ID, c.Orders)
		}
	}
}

// TestSealInTipMode: with HistoryTip seals have no effect, and the tip's signer needs the role change for the whole change.
func TestSealInTipMode(t *testing.T) {
	t.Parallel()
	s := newSealHistory(t)
	tip := s.commit(s.seal(s.next, s.changed))
	s.refused(s.policy(sealer(), history(verify.HistoryTip)), tip, s.base, verify.ReasonMissingRole, tip)
}

// TestSealDoesNotApplyOnFirstUse: on first use the whole tree needs a signer, and a seal covers only a range.
func TestSealDoesNotApplyOnFirstUse(t *testing.T) {
	t.Parallel()
	s := newSealHistory(t)
	tip := s.commit(s.seal(s.next, s.changed))
	s.refused(s.policy(sealer()), tip, verify.Base{}, verify.ReasonUnsigned, s.changed)
}

// TestSealsThatDoNotCount has the ways in which a seal could cover more than its signer intended or may seal. The commits
// are then refused for their own reasons, and the message explains why the seal does not count.
func TestSealsThatDoNotCount(t *testing.T) {
	t.Parallel()
	ranges := func(from, to gitsource.ID) string { return "Gitops-Seal: " + string(from) + ".." + string(to) }
	tests := map[string]struct {
		change func(s sealHistory, d *draft)
		want   string
	}{
		"role":             {func(_ sealHistory, d *draft) { d.by = alice }, "lacks the role seal"},
		"tree_changed":     {func(s sealHistory, d *draft) { d.tree = s.tree("web.yaml=9") }, "changes files"},
		"merge":            {func(s sealHistory, d *draft) { d.parents = append(d.parents, s.accepted) }, "2 parents"},
		"ends_below":       {func(s sealHistory, d *draft) { d.message = "x\n\n" + ranges(s.next, s.loose) }, "the parent of the seal"},
		"ends_elsewhere":   {func(s sealHistory, d *draft) { d.message = "x\n\n" + ranges(s.next, s.unsigned(draft{})) }, "the parent of the seal"},
		"begins_elsewhere": {func(s sealHistory, d *draft) { d.message = "x\n\n" + ranges(s.unsigned(draft{}), s.changed) }, "not among the 1000 first parents"},
		"begins_nowhere": {func(s sealHistory, d *draft) {
			d.message = "x\n\n" + ranges(gitsource.ID(strings.Repeat("12", 20)), s.changed)
		}, "not among the 1000 first parents"},
		"begins_beside": {func(s sealHistory, d *draft) { d.message = "x\n\n" + ranges(s.unsigned(s.on(s.accepted)), s.changed) }, "not among the 1000 first parents"},
		"backwards":     {func(s sealHistory, d *draft) { d.message = "x\n\n" + ranges(s.changed, s.next) }, "the parent of the seal"},
		"empty":         {func(s sealHistory, d *draft) { d.message = "x\n\n" + ranges(s.changed, s.changed) }, "contains no commit"},
		"short_ids":     {func(s sealHistory, d *draft) { d.message = "x\n\n" + ranges(s.next[:12], s.changed[:12]) }, "40 lower-case hex digits"},
		"short_begin":   {func(s sealHistory, d *draft) { d.message = "x\n\n" + ranges(s.next[:12], s.changed) }, "40 lower-case hex digits"},
		"short_end":     {func(s sealHistory, d *draft) { d.message = "x\n\n" + ranges(s.next, s.changed[:12]) }, "40 lower-case hex digits"},
		"one_id":        {func(s sealHistory, d *draft) { d.message = "x\n\nGitops-Seal: " + string(s.changed) }, "40 lower-case hex digits"},
		"three_dots": {func(s sealHistory, d *draft) {
			d.message = "x\n\nGitops-Seal: " + string(s.next) + "..." + string(s.changed)
		}, "40 lower-case hex digits"},
		"names":          {func(_ sealHistory, d *draft) { d.message = "x\n\nGitops-Seal: main~3..main" }, "40 lower-case hex digits"},
		"twice":          {func(s sealHistory, d *draft) { d.message += "\n" + ranges(s.loose, s.changed) }, "2 times"},
		"quoted":         {func(_ sealHistory, d *draft) { d.message = strings.ReplaceAll(d.message, "Gitops", "> Gitops") }, "last paragraph"},
		"not_at_the_end": {func(_ sealHistory, d *draft) { d.message += "\n\nand more" }, "last paragraph"},
		"among_others":   {func(_ sealHistory, d *draft) { d.message += "\nSigned-off-by: A <a@x>" }, "Signed-off-by"},
		"no_first_paragraph": {func(_ sealHistory, d *draft) {
			d.message = strings.TrimPrefix(d.message, "reviewed\n\n")
		}, "last paragraph"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSealHistory(t)
			d := s.seal(s.next, s.changed)
			tt.change(s, &d)
			p := s.policy(sealer(), func(o *verify.Options) {
				o.Signers[1].May = append(o.Signers[1].May, verify.RoleChange) // so that the seal alone is at fault
			})
			tip := s.commit(d)
			s.refused(p, tip, s.base, verify.ReasonUnsigned, s.loose)
			if _, err := p.Check(t.Context(), s.repo, tip, s.base); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want it to contain %q about the seal", err, tt.want)
			}
		})
	}
}

// TestSealByUntrustedSigner: an unsigned seal and a seal of an untrusted identity are refused like any other commit.
func TestSealByUntrustedSigner(t *testing.T) {
	t.Parallel()
	s := newSealHistory(t)
	d := s.seal(s.next, s.changed)
	s.refused(s.policy(sealer()), s.unsigned(d), s.base, verify.ReasonUnsigned, s.loose)
	d.by = mallory
	s.refused(s.policy(sealer()), s.commit(d), s.base, verify.ReasonUnsigned, s.loose)

	d = s.seal(s.accepted, s.next)
	d.tree, d.by = s.first, mallory
	d.parents = []gitsource.ID{s.next}
	tip := s.commit(d)
	s.refused(s.policy(sealer()), tip, s.base, verify.ReasonWrongIdentity, tip)
}

// TestSealOutsideItsTime: a seal counts only if its signer was trusted at the proven time. Otherwise the refusal of the
// commits explains why the seal does not count.
func TestSealOutsideItsTime(t *testing.T) {
	t.Parallel()
	s := newSealHistory(t)
	tip := s.commit(s.seal(s.next, s.changed))
	p := s.policy(sealer(), func(o *verify.Options) { o.Signers[1].Until = s.now })
	s.refused(p, tip, s.base, verify.ReasonUnsigned, s.loose)
	if _, err := p.Check(t.Context(), s.repo, tip, s.base); err == nil || !strings.Contains(err.Error(), "was not trusted at") {
		t.Errorf("got %v, want it to explain why the seal does not count", err)
	}
	s.testRepo.accepted(s.policy(sealer(), func(o *verify.Options) { o.Signers[1].From = s.now }), tip, s.base)
}

// TestVoidSealKeepsTheReason: the explanation about the seal does not replace the reason of the commit.
func TestVoidSealKeepsTheReason(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	loose := s.foreign(s.on(s.next), pgpSignature)
	d := s.seal(s.next, loose)
	d.by = alice
	_, err := s.policy(sealer()).Check(t.Context(), s.repo, s.commit(d), s.base)
	for _, want := range []string{"PGP SIGNATURE", "lacks the role seal"} {
		if !isReason(err, verify.ReasonNotSigstore) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to contain %q", err, want)
		}
	}
}

// TestVoidSealIsReported: a seal that does not count, over commits that need no seal, is accepted and reported as ignored.
func TestVoidSealIsReported(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	d := s.seal(s.accepted, s.next)
	d.by = alice
	commits := s.testRepo.accepted(s.policy(sealer()), s.commit(d), s.base).Commits()
	if got := commits[1]; len(got.Sealed) != 0 || !strings.Contains(got.Ignored, "lacks the role seal") {
		t.Errorf("got sealed %v, ignored %q, want nothing sealed and the reason", got.Sealed, got.Ignored)
	}
}

// TestSealLength: a range may have as many commits as may be accepted at once, counted from its end.
func TestSealLength(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	var path []gitsource.ID
	tip := s.next
	for i := range 1000 {
		d := s.on(tip)
		d.message = fmt.Sprintf("commit %d", i)
		tip = s.unsigned(d)
		path = append(path, tip)
	}
	base := verify.Base{Commit: path[997]}
	s.testRepo.accepted(s.policy(sealer()), s.commit(s.seal(s.next, tip)), base)
	s.refused(s.policy(sealer()), s.commit(s.seal(s.accepted, tip)), base, verify.ReasonUnsigned, path[998])
}
