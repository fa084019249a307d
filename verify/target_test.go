package verify_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/verify"
)

// bound is a policy whose commits name their target: that of the branch main and the given cluster.
func (l *testRepo) bound(cluster string) *verify.Policy {
	l.Helper()
	return l.policy(func(o *verify.Options) { o.Binding, o.Target = verify.BindingTrailer, cluster+"/main" })
}

// trailers returns a message that names these targets.
func trailers(targets ...string) string {
	return "change\n\nGitops-Target: " + strings.Join(targets, "\nGitops-Target: ")
}

// naming stores a signed commit on parent that names these targets.
func (s testHistory) naming(parent gitsource.ID, targets ...string) gitsource.ID {
	s.Helper()
	d := s.on(parent)
	d.message = trailers(targets...)
	return s.commit(d)
}

// candidate returns the candidate of a head.
func (l *testRepo) candidate(p *verify.Policy, head gitsource.ID) gitsource.ID {
	l.Helper()
	id, err := p.Candidate(l.Context(), l.repo, head)
	if err != nil {
		l.Fatal(err)
	}
	return id
}

func clusters(n int) []string {
	var targets []string
	for i := range n {
		targets = append(targets, fmt.Sprintf("lab%d/main", i))
	}
	return targets
}

// TestCheckSeveralTargets: the tip of a branch with several clusters names this target, and all its targets have the right form.
func TestCheckSeveralTargets(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		targets []string
		want    verify.Reason
	}{
		"with_others":         {[]string{"away/main", "lab/main", "home/stable"}, ""},
		"sixteen":             {append(clusters(15), "lab/main"), ""},
		"seventeen":           {append(clusters(16), "lab/main"), verify.ReasonWrongTarget},
		"only_others":         {[]string{"away/main", "home/main"}, verify.ReasonWrongTarget},
		"two_branches":        {[]string{"lab/main", "lab/feature"}, verify.ReasonWrongTarget},
		"other_one_twice":     {[]string{"lab/main", "away/main", "away/main"}, verify.ReasonWrongTarget},
		"other_two_branches":  {[]string{"lab/main", "away/main", "away/feature"}, verify.ReasonWrongTarget},
		"without_branch":      {[]string{"lab/main", "away"}, verify.ReasonWrongTarget},
		"without_branch_name": {[]string{"lab/main", "away/"}, verify.ReasonWrongTarget},
		"without_cluster":     {[]string{"lab/main", "/main"}, verify.ReasonWrongTarget},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestHistory(t)
			tip := s.naming(s.next, tt.targets...)
			if tt.want != "" {
				s.refused(s.bound("lab"), tip, s.base, tt.want, tip)
			} else {
				s.testRepo.accepted(s.bound("lab"), tip, s.base)
			}
		})
	}
}

// TestCandidate: commits that name only other clusters are passed over, and no others.
func TestCandidate(t *testing.T) {
	t.Parallel()
	const candidate, head = "candidate", "head"
	tests := map[string]struct {
		above   func(s testHistory, on gitsource.ID) gitsource.ID // puts the head on a commit that names the target
		cluster string
		want    string // candidate, or head
	}{
		"others": {func(s testHistory, on gitsource.ID) gitsource.ID {
			return s.naming(s.naming(on, "away/main"), "a/b", "c/d/e")
		}, "lab", candidate},
		"this_one":        {func(s testHistory, on gitsource.ID) gitsource.ID { return s.naming(on, "away/main", "lab/main") }, "lab", head},
		"other_branch":    {func(s testHistory, on gitsource.ID) gitsource.ID { return s.naming(on, "lab/feature") }, "lab", head},
		"also_branch":     {func(s testHistory, on gitsource.ID) gitsource.ID { return s.naming(on, "away/main", "lab/feature") }, "lab", head},
		"no_target":       {func(s testHistory, on gitsource.ID) gitsource.ID { return s.commit(s.on(on)) }, "lab", head},
		"malformed":       {func(s testHistory, on gitsource.ID) gitsource.ID { return s.naming(on, "away") }, "lab", head},
		"twice":           {func(s testHistory, on gitsource.ID) gitsource.ID { return s.naming(on, "away/main", "away/main") }, "lab", head},
		"seventeen":       {func(s testHistory, on gitsource.ID) gitsource.ID { return s.naming(on, clusters(17)...) }, "lab", head},
		"prefix_of_name":  {func(s testHistory, on gitsource.ID) gitsource.ID { return s.naming(on, "lab2/main") }, "lab", candidate},
		"no_commit_names": {func(s testHistory, on gitsource.ID) gitsource.ID { return s.naming(on, "away/main") }, "lab2", head},
		"unsigned_others": {func(s testHistory, on gitsource.ID) gitsource.ID {
			d := s.on(on)
			d.message = trailers("away/main")
			return s.unsigned(d)
		}, "lab", candidate},
		"second_parent": {func(s testHistory, on gitsource.ID) gitsource.ID {
			d := s.on(on)
			d.parents, d.message = append(d.parents, s.naming(on, "lab/main")), trailers("away/main")
			return s.commit(d)
		}, "lab", candidate},
		"not_readable": {func(s testHistory, on gitsource.ID) gitsource.ID {
			return s.object("commit", []byte("tree "+string(s.tree("web.yaml=9"))+"\nparent "+string(on)+"\n\n"+trailers("away/main")))
		}, "lab", head},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestHistory(t)
			named := s.commit(draft{tree: s.first, message: trailers("away/main")})
			if tt.cluster == "lab" {
				named = s.naming(s.commit(draft{tree: s.first}), "lab/main") // the first commit would be the candidate below it
			}
			tip := tt.above(s, named)
			want := map[string]gitsource.ID{candidate: named, head: tip}[tt.want]
			if got := s.candidate(s.bound(tt.cluster), tip); got != want {
				t.Errorf("got %s, want the %s %s", got, tt.want, want)
			}
			if got := s.candidate(s.policy(), tip); got != tip {
				t.Errorf("without the binding: got %s, want the head", got)
			}
		})
	}
}

// TestCandidateSeparatesReadErrors: a commit that is missing is left to Check, and a failure to read decides nothing.
func TestCandidateSeparatesReadErrors(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	below := s.naming(s.accepted, "lab/main")
	tip := s.naming(below, "away/main")
	s.forget(below)
	if got := s.candidate(s.bound("lab"), tip); got != below {
		t.Errorf("got %s, want the missing commit", got)
	}
	s.refused(s.bound("lab"), below, s.base, verify.ReasonIncompleteHistory, below)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := s.bound("lab").Candidate(ctx, s.repo, tip); err == nil || isRejected(err) || got != "" {
		t.Errorf("got %s and %v, want an error that is no refusal", got, err)
	}
}

// TestPassedOverCommitsAreVerifiedLater: what names only other clusters is not accepted by being passed over.
func TestPassedOverCommitsAreVerifiedLater(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	p := s.bound("lab")
	d := s.on(s.next)
	d.message = trailers("away/main")
	for name, tt := range map[string]struct {
		passed gitsource.ID
		want   verify.Reason
	}{
		"unsigned": {s.unsigned(d), verify.ReasonUnsigned},
		"forge":    {s.foreign(d, pgpSignature), verify.ReasonNotSigstore},
		"mallory":  {s.commit(draft{by: mallory, tree: s.first, parents: d.parents, message: d.message}), verify.ReasonWrongIdentity},
		"signed":   {s.commit(d), ""},
	} {
		t.Run(name, func(t *testing.T) {
			tip := s.naming(tt.passed, "lab/main")
			if got := s.candidate(p, s.naming(tip, "away/main")); got != tip {
				t.Fatalf("got candidate %s, want %s", got, tip)
			}
			if tt.want == "" {
				s.testRepo.accepted(p, tip, s.base)
				return
			}
			s.refused(p, tip, s.base, tt.want, tt.passed)
		})
	}
}

// TestOrdersForOtherClusters: a commit that names only other clusters gives this cluster no orders when a later candidate covers it.
func TestOrdersForOtherClusters(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		targets string
		bound   bool
		want    int
	}{
		"others":         {"away/main", true, 0},
		"this_one":       {"lab/main", true, 1},
		"several":        {"away/main\nGitops-Target: lab/main", true, 1},
		"other_branch":   {"lab/feature", true, 1},
		"without_a_bond": {"away/main", false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestHistory(t)
			d := s.on(s.next)
			d.message = "why\n\nGitops-Approve: 12ab\nGitops-Target: " + tt.targets
			tip := s.naming(s.commit(d), "lab/main")
			p := s.policy()
			if tt.bound {
				p = s.bound("lab")
			}
			found := 0
			for _, c := range s.testRepo.accepted(p, tip, s.base).Commits() {
				found += len(c.Orders)
				if c.Ignored != "" {
					t.Errorf("got ignored %q, want nothing", c.Ignored)
				}
			}
			if found != tt.want {
				t.Errorf("got %d orders, want %d", found, tt.want)
			}
		})
	}
}

// TestAgentsOfOneBranch follows random branches with the policies of three clusters. Each accepts exactly the newest commit that names it, verifies every
// commit up to there once, never goes back, and accepts nothing above an unsigned commit.
func TestAgentsOfOneBranch(t *testing.T) {
	t.Parallel()
	const runs, length = 12, 14
	accepted, refused, passed := 0, 0, 0
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := newTestHistory(t)
		names := []string{"lab", "away", "home"}
		bases, covered := map[string]verify.Base{}, map[string][]gitsource.ID{}
		for _, name := range names {
			bases[name] = s.base
		}
		head, bad := s.accepted, gitsource.ID("")
		var path []gitsource.ID
		newest := map[string]gitsource.ID{}
		for range length {
			var targets []string
			for _, name := range names {
				if random.IntN(2) == 0 {
					targets = append(targets, name+"/main")
				}
			}
			if len(targets) == 0 {
				targets = []string{"nobody/main"}
			}
			d := s.on(head)
			d.message = trailers(targets...)
			if bad == "" && random.IntN(length) == 0 {
				head = s.unsigned(d)
				bad = head
			} else {
				head = s.commit(d)
			}
			path = append(path, head)
			for _, target := range targets {
				newest[strings.TrimSuffix(target, "/main")] = head
			}
			if random.IntN(2) == 0 {
				continue // the agents poll less often than people push
			}
			for _, name := range names {
				p := s.bound(name)
				candidate := s.candidate(p, head)
				if newest[name] == "" {
					if _, err := p.Check(t.Context(), s.repo, candidate, bases[name]); err == nil && candidate != s.accepted {
						t.Fatalf("seed %d: %s accepted %s, which does not name it", seed, name, candidate)
					}
					continue
				}
				if candidate != newest[name] {
					t.Fatalf("seed %d: got candidate %s of %s, want %s", seed, candidate, name, newest[name])
				}
				if candidate == bases[name].Commit {
					passed++
					continue
				}
				rev, err := p.Check(t.Context(), s.repo, candidate, bases[name])
				if bad != "" && slices.Index(path, bad) <= slices.Index(path, candidate) {
					if !isReason(err, verify.ReasonUnsigned) {
						t.Fatalf("seed %d: got %v above an unsigned commit, want unsigned", seed, err)
					}
					refused++
					continue
				}
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				for _, c := range rev.Commits() {
					covered[name] = append(covered[name], c.ID)
				}
				bases[name] = verify.Base{Commit: rev.Commit(), ProvenTime: rev.ProvenTime()}
				if want := path[:slices.Index(path, candidate)+1]; !slices.Equal(covered[name], want) {
					t.Fatalf("seed %d: %s verified %v, want each of %v once", seed, name, covered[name], want)
				}
				accepted++
			}
		}
	}
	if accepted == 0 || refused == 0 || passed == 0 {
		t.Errorf("got %d accepted, %d refused, %d passed over, want some of each", accepted, refused, passed)
	}
}

// TestRollbackOfASharedBranch: a branch that was set back below the accepted commit is refused, also if its head names only other clusters.
func TestRollbackOfASharedBranch(t *testing.T) {
	t.Parallel()
	s := newTestHistory(t)
	p := s.bound("lab")
	older := s.naming(s.next, "lab/main")
	newer := s.naming(older, "lab/main")
	base := verify.Base{Commit: newer, ProvenTime: s.testRepo.accepted(p, newer, s.base).ProvenTime()}
	for name, head := range map[string]gitsource.ID{
		"older": older, "others_on_older": s.naming(older, "away/main"), "only_others": s.naming(s.next, "away/main"),
	} {
		t.Run(name, func(t *testing.T) {
			id := s.candidate(p, head)
			_, err := p.Check(t.Context(), s.repo, id, base)
			var rejected *verify.RejectedError
			if !errors.As(err, &rejected) || rejected.Reason != verify.ReasonNotDescendant {
				t.Errorf("got %v, want not-descendant", err)
			}
		})
	}
}
