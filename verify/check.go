package verify

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gitops-agent/gitsource"
)

// maxClockSkew is how far the proven time may go back: logs and timestamp authorities do not share a clock.
const maxClockSkew = 5 * time.Minute

// A Base is what was accepted last. The zero value means that nothing was: the first revision then starts from the
// policy's anchor, or from trust on first use.
type Base struct {
	Commit     gitsource.ID
	ProvenTime time.Time
	// Rewrite is a tip that somebody on this host allowed by its full id, although it does not descend from Commit. It
	// counts for that tip alone. Its signature, signer, target and NotBefore are checked all the same.
	Rewrite gitsource.ID
}

// Check decides whether tip may become the state of the cluster after base. It reads whatever lies between from repo,
// verifies it, and keeps nothing: a refused tip leaves no trace that could move the base. Every refusal is a
// *RejectedError; any other error means that nothing was decided.
//
// Time is the proven time of signatures throughout; the clock of this machine has no say.
func (p *Policy) Check(ctx context.Context, repo *gitsource.Repository, tip gitsource.ID, base Base) (Revision, error) {
	commits, last, err := p.checkHistory(ctx, repo, tip, base)
	if err != nil {
		return Revision{}, err
	}
	if err := p.checkTip(last); err != nil {
		return Revision{}, at(tip, err)
	}
	return Revision{
		commit: last.id, tree: last.tree, branch: p.options.Branch, provenTime: last.proof.provenTime,
		signer: Identity{
			Signer: last.signer.Name, Issuer: last.proof.certificate.Issuer, Subject: last.proof.certificate.SubjectAlternativeName,
		},
		commits: commits,
	}, nil
}

// checkHistory verifies what leads to tip, and returns it with the tip.
func (p *Policy) checkHistory(ctx context.Context, repo *gitsource.Repository, tip gitsource.ID, base Base) ([]SignedCommit, admitted, error) {
	floor := base.Commit
	if floor == "" {
		floor = p.options.Anchor
	}
	switch {
	case base.Rewrite != "" && base.Rewrite == tip:
		last, err := p.admit(ctx, repo, tip)
		return nil, last, err
	case floor == "":
		return p.checkFirstUse(ctx, repo, tip)
	}
	way, err := lineageFrom(ctx, repo, floor, tip)
	if err != nil {
		return nil, admitted{}, p.orMissingAnchor(base, err)
	}
	if len(way.path) == 0 { // tip is the floor, which was judged when it became that
		last, err := p.admit(ctx, repo, tip)
		if err == nil {
			err = notBack(base.ProvenTime, last)
		}
		return nil, last, err
	}
	return p.checkPath(ctx, repo, way, base.ProvenTime)
}

// orMissingAnchor names a history without its floor after the anchor where the anchor is that floor.
func (p *Policy) orMissingAnchor(base Base, err error) error {
	var rejected *RejectedError
	if base.Commit == "" && errors.As(err, &rejected) && rejected.Reason == ReasonNotDescendant {
		return at(rejected.Commit, refusal(ReasonMissingAnchor, rejected.Err))
	}
	return err
}

// checkFirstUse takes tip as it comes, if whoever signed it may vouch for its whole tree. Where the tip only gives
// orders, that is for the nearest first parent with a signer who may change files.
func (p *Policy) checkFirstUse(ctx context.Context, repo *gitsource.Repository, tip gitsource.ID) ([]SignedCommit, admitted, error) {
	var path []admitted
	for id := tip; ; {
		a, err := p.admit(ctx, repo, id)
		if err != nil {
			return nil, admitted{}, err
		}
		path = append(path, a)
		if a.signer.may(RoleChange) || len(a.parents) == 0 || len(path) == maxCommits {
			break
		}
		id = a.parents[0]
	}
	slices.Reverse(path)
	commits, err := p.judge(ctx, repo, path, "", time.Time{})
	return commits, path[len(path)-1], err
}

// checkPath verifies the commits of a lineage as far as the history mode asks and no seal vouches for them.
func (p *Policy) checkPath(ctx context.Context, repo *gitsource.Repository, way lineage, since time.Time) ([]SignedCommit, admitted, error) {
	before, err := readCommit(ctx, repo, way.floor)
	if err != nil {
		return nil, admitted{}, err
	}
	for _, id := range way.path {
		if slices.Contains(p.options.Deny.Commits, id) {
			return nil, admitted{}, at(id, refuse(ReasonDenied, "commit is on the list"))
		}
	}
	verified, err := p.admitPath(ctx, repo, way)
	if err != nil {
		return nil, admitted{}, err
	}
	commits, err := p.judge(ctx, repo, verified, before.tree, since)
	return commits, verified[len(verified)-1], err
}

// admitPath verifies what the history mode asks for, and returns those commits of the path that it verified.
func (p *Policy) admitPath(ctx context.Context, repo *gitsource.Repository, way lineage) ([]admitted, error) {
	if p.options.History == HistoryTip {
		return p.admitAll(ctx, repo, way.path[len(way.path)-1:])
	}
	found, err := p.readSeals(ctx, repo, way)
	if err != nil {
		return nil, err
	}
	if p.options.History == HistoryAll {
		if err := p.checkSides(ctx, repo, way, found); err != nil {
			return nil, err
		}
	}
	verified, err := p.admitAll(ctx, repo, found.unsealed(way.path))
	if err != nil {
		return nil, found.explain(way.path, err)
	}
	for i := range verified {
		found.mark(&verified[i])
	}
	return verified, nil
}

// checkSides verifies what merges on the way bring in, each commit against its own first parent.
func (p *Policy) checkSides(ctx context.Context, repo *gitsource.Repository, way lineage, found seals) error {
	excused, err := found.vouched(ctx, repo, maxWalk)
	if err != nil {
		return err
	}
	for _, id := range p.options.Deny.Commits {
		if excused[id] {
			return at(id, refuse(ReasonDenied, "commit is on the list"))
		}
	}
	sides, err := sideCommits(ctx, repo, way, excused)
	if err != nil {
		return err
	}
	verified, err := p.admitAll(ctx, repo, sides)
	if err != nil {
		return err
	}
	for _, a := range verified {
		before, err := parentTree(ctx, repo, a)
		if err != nil {
			return err
		}
		if err := p.mayMake(ctx, repo, a, before); err != nil {
			return err
		}
	}
	return nil
}

// judge applies the rules that need the neighbours of a commit: proven time does not go back, and each signer may make
// the change from the tree before. The first of path is measured against the tree before all of them.
func (p *Policy) judge(ctx context.Context, repo *gitsource.Repository, path []admitted, before gitsource.ID, since time.Time) ([]SignedCommit, error) {
	commits := make([]SignedCommit, 0, len(path))
	for _, a := range path {
		if err := notBack(since, a); err != nil {
			return nil, err
		}
		if a.proof.provenTime.After(since) {
			since = a.proof.provenTime
		}
		if err := p.mayMake(ctx, repo, a, before); err != nil {
			return nil, err
		}
		parent, err := orderTree(ctx, repo, a)
		if err != nil {
			return nil, err
		}
		commits = append(commits, a.signed(before, parent))
		before = a.tree
	}
	return commits, nil
}

// orderTree returns the tree of the first parent where it decides whether the commit gives orders.
func orderTree(ctx context.Context, repo *gitsource.Repository, a admitted) (gitsource.ID, error) {
	if !a.seemsOrder {
		return "", nil
	}
	return parentTree(ctx, repo, a)
}

// parentTree returns the tree of a's first parent, or "" for the empty tree before a first commit.
func parentTree(ctx context.Context, repo *gitsource.Repository, a admitted) (gitsource.ID, error) {
	if len(a.parents) == 0 {
		return "", nil
	}
	o, err := readCommit(ctx, repo, a.parents[0])
	return o.tree, err
}

// notBack refuses a commit that was signed before what came earlier.
func notBack(since time.Time, a admitted) error {
	if !a.proof.provenTime.Before(since.Add(-maxClockSkew)) {
		return nil
	}
	return at(a.id, refuse(ReasonTimeWentBack, "proven time %s, accepted before it %s",
		a.proof.provenTime.Format(time.RFC3339), since.Format(time.RFC3339)))
}

// checkTip applies the rules that concern the tip alone.
func (p *Policy) checkTip(tip admitted) error {
	if tip.proof.provenTime.Before(p.options.NotBefore) {
		return refuse(ReasonTooOld, "proven time %s", tip.proof.provenTime.Format(time.RFC3339))
	}
	if p.options.Binding != BindingTrailer {
		return nil
	}
	switch targets := values(tip.trailers, trailerTarget); {
	case len(targets) == 0:
		return refuse(ReasonWrongTarget, "message does not end with the trailer %s: %s", trailerTarget, p.options.Target)
	case len(targets) > 1:
		return refuse(ReasonWrongTarget, "trailer %s stands %d times", trailerTarget, len(targets))
	case targets[0] != p.options.Target:
		return refuse(ReasonWrongTarget, "got target %q, want %q", targets[0], p.options.Target)
	}
	return nil
}

// admitAll admits every commit of ids on all processors. Of several refusals it returns the one that stands first in
// ids, so that the same history is always refused for the same reason.
func (p *Policy) admitAll(ctx context.Context, repo *gitsource.Repository, ids []gitsource.ID) ([]admitted, error) {
	all, errs := make([]admitted, len(ids)), make([]error, len(ids))
	var next, stop atomic.Int64
	stop.Store(int64(len(ids)))
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(ids)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < stop.Load(); i = next.Add(1) - 1 {
				all[i], errs[i] = p.admit(ctx, repo, ids[i])
				for known := stop.Load(); errs[i] != nil && i < known && !stop.CompareAndSwap(known, i); {
					known = stop.Load()
				}
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
