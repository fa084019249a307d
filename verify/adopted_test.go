package verify_test

import (
	"strings"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/internal/sigtest"
	"gitops-agent/verify"
)

// TestChangesForOtherTargets: what a commit changed for other targets only comes into force with a commit that names this target, by a signer who may make the same change.
func TestChangesForOtherTargets(t *testing.T) {
	t.Parallel()
	carol := sigtest.Identity{Subject: "carol@lab.test", Issuer: alice.Issuer}
	type made struct {
		by      sigtest.Identity
		files   []string
		targets []string
	}
	away, lab, both := []string{"away/main"}, []string{"lab/main"}, []string{"away/main", "lab/main"}
	start := []string{"db/a=1", "web/a=1"}
	db, web := []string{"db/a=2", "web/a=1"}, []string{"db/a=2", "web/a=2"}
	tests := map[string]struct {
		made []made // after the accepted commit with the files of start
		want verify.Reason
	}{
		"by_a_limited_tip":                 {[]made{{alice, db, away}, {bob, web, lab}}, verify.ReasonOutOfScope},
		"by_an_unlimited_tip":              {[]made{{alice, db, away}, {alice, web, lab}}, ""},
		"by_an_empty_commit_without_limit": {[]made{{alice, db, away}, {alice, db, lab}}, ""},
		"by_an_empty_commit_with_a_limit":  {[]made{{alice, db, away}, {bob, db, lab}}, verify.ReasonOutOfScope},
		"by_an_approver":                   {[]made{{alice, db, away}, {carol, db, lab}}, verify.ReasonOutOfScope},
		"by_a_commit_below_the_tip":        {[]made{{alice, db, away}, {alice, db, lab}, {bob, web, lab}}, ""},
		"by_a_commit_without_a_target":     {[]made{{alice, db, away}, {alice, []string{"db/a=2", "other=1", "web/a=1"}, nil}, {bob, []string{"db/a=2", "other=1", "web/a=2"}, lab}}, verify.ReasonOutOfScope},
		"by_an_earlier_commit":             {[]made{{alice, start, lab}, {alice, db, away}, {bob, web, lab}}, verify.ReasonOutOfScope},
		"for_another_branch":               {[]made{{alice, db, []string{"lab/feature"}}, {bob, web, lab}}, verify.ReasonOutOfScope},
		"for_both":                         {[]made{{alice, db, both}, {bob, web, lab}}, ""},
		"without_targets":                  {[]made{{alice, db, nil}, {bob, web, lab}}, ""},
		"reverted":                         {[]made{{alice, db, away}, {alice, start, away}, {bob, []string{"db/a=1", "web/a=2"}, lab}}, ""},
		"half_reverted":                    {[]made{{alice, []string{"db/a=2", "db/b=1", "web/a=1"}, away}, {alice, db, away}, {bob, web, lab}}, verify.ReasonOutOfScope},
		"within_the_limit":                 {[]made{{alice, []string{"db/a=1", "web/a=3"}, away}, {bob, []string{"db/a=1", "web/a=2"}, lab}}, ""},
		"removed_file":                     {[]made{{alice, []string{"web/a=1"}, away}, {bob, []string{"web/a=2"}, lab}}, verify.ReasonOutOfScope},
		"two_of_them":                      {[]made{{alice, []string{"db/a=1", "web/a=3"}, away}, {alice, []string{"db/a=2", "web/a=3"}, away}, {bob, web, lab}}, verify.ReasonOutOfScope},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestRepo(t)
			head := l.commit(draft{tree: l.tree(start...)})
			base := verify.Base{Commit: head, ProvenTime: l.now}
			for _, m := range tt.made {
				d := draft{by: m.by, tree: l.tree(m.files...), parents: []gitsource.ID{head}, message: "change"}
				if len(m.targets) > 0 {
					d.message = trailers(m.targets...)
				}
				head = l.commit(d)
			}
			limited := verify.Signer{Name: "bob", Issuer: bob.Issuer, Subject: bob.Subject, May: []verify.Role{verify.RoleChange}, Paths: []string{"web"}}
			p := l.policy(func(o *verify.Options) { o.Binding = verify.BindingTrailer }, addSigner(limited), addSigner(approver(carol)))
			if tt.want == "" {
				l.accepted(p, head, base)
				return
			}
			l.refused(p, head, base, tt.want, head)
		})
	}
}

// TestChangesForOtherTargetsThatCannotBeCompared: a tree that cannot be compared comes into force only by a signer who may change everything.
func TestChangesForOtherTargetsThatCannotBeCompared(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	d := s.on(s.next)
	d.tree, d.message = s.tree("...=1", "..=1"), trailers("away/main")
	passed := s.commit(d)
	p := s.policy(func(o *verify.Options) { o.Binding = verify.BindingTrailer }, addSigner(approver(bob)))
	s.refused(p, s.commit(draft{by: bob, tree: d.tree, parents: []gitsource.ID{passed}, message: trailers("lab/main")}), s.base, verify.ReasonOutOfScope, passed)
	s.testRepo.accepted(p, s.commit(draft{tree: d.tree, parents: []gitsource.ID{passed}, message: trailers("lab/main")}), s.base)
}

// TestChangesForOtherTargetsElsewhere passes over a change in a folder that the target does not read: signers of one folder each share a branch.
func TestChangesForOtherTargetsElsewhere(t *testing.T) {
	t.Parallel()
	for paths, want := range map[string]verify.Reason{"web": "", "web db": verify.ReasonOutOfScope, "db": verify.ReasonOutOfScope, "": verify.ReasonOutOfScope} {
		l := newTestRepo(t)
		base := l.commit(draft{tree: l.tree("db/a=1", "web/a=1")})
		began := l.now
		passed := l.commit(draft{tree: l.tree("db/a=2", "web/a=1"), parents: []gitsource.ID{base}, message: trailers("away/main")})
		tip := l.commit(draft{by: bob, tree: l.tree("db/a=2", "web/a=2"), parents: []gitsource.ID{passed}, message: trailers("lab/main")})
		limited := verify.Signer{Name: "bob", Issuer: bob.Issuer, Subject: bob.Subject, May: []verify.Role{verify.RoleChange}, Paths: []string{"web"}}
		p := l.policy(func(o *verify.Options) { o.Binding, o.Paths = verify.BindingTrailer, strings.Fields(paths) }, addSigner(limited))
		if from := (verify.Base{Commit: base, ProvenTime: began}); want == "" {
			l.accepted(p, tip, from)
		} else {
			l.refused(p, tip, from, want, tip)
		}
	}
}
