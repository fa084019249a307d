package verify

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gitops-agent/gitsource"
)

// maxClockSkew is how far the proven time may go back. Logs and timestamp authorities do not share a clock.
const maxClockSkew = 5 * time.Minute

// A Base is what was accepted last. The tip must descend from it; a commit with the same payload under another id counts as the base, if the repository
// still has the base. The zero value means that nothing was accepted: the first revision then starts from
// the policy's anchor, or from trust on first use.
type Base struct {
	Commit     gitsource.ID
	ProvenTime time.Time
	// Rewrite is a tip that the operator of this host allowed by its full id although it does not descend from Commit. The
	// permission applies only to that tip. Check still verifies its signature, signer, target and NotBefore.
	Rewrite gitsource.ID
}

// Check decides whether tip may become the state of the cluster after base. It reads and verifies the commits between
// base and tip from repo. It stores nothing, so a refused tip cannot move the base. Every refusal is a *RejectedError.
// Any other error means that nothing was decided.
//
// Check uses only the proven time of signatures and never the clock of this machine.
func (p *Policy) Check(ctx context.Context, repo *gitsource.Repository, tip gitsource.ID, base Base) (Revision, error) {
	commits, last, err := p.checkHistory(ctx, repo, tip, base)
	if err != nil {
		return Revision{}, tooManySince(base, tip, err)
	}
	if err := p.checkTip(last); err != nil {
		return Revision{}, forCommit(tip, err)
	}
	return Revision{
		commit: last.id, tree: last.tree, branch: p.options.Branch, provenTime: last.proof.provenTime,
		signer: Identity{
			Signer: last.signer.Name, Issuer: last.proof.certificate.Issuer, Subject: last.proof.certificate.SubjectAlternativeName,
		},
		commits: commits, evidence: last.proof.evidence,
		promoted: p.promotedBy(commits, last), unchanged: isUnchanged(base, commits, last),
	}, nil
}

// checkHistory verifies the commits that lead from the base to tip. It returns the list for Revision.Commits, and the tip.
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
	l, err := boundedLineage(ctx, repo, floor, tip)
	if err != nil {
		return nil, admitted{}, p.asMissingAnchor(base, err)
	}
	if len(l.path) == 0 { // tip is the floor, which was judged when it was accepted
		last, err := p.admit(ctx, repo, tip)
		if err == nil {
			err = checkProvenTime(base.ProvenTime, last)
		}
		return nil, last, err
	}
	return p.checkPath(ctx, repo, l, base.ProvenTime)
}

// asMissingAnchor changes the reason not-descendant to missing-anchor if the floor of the history is the anchor.
func (p *Policy) asMissingAnchor(base Base, err error) error {
	var rejected *RejectedError
	if base.Commit == "" && errors.As(err, &rejected) && rejected.Reason == ReasonNotDescendant {
		return forCommit(rejected.Commit, refusal(ReasonMissingAnchor, rejected.Err))
	}
	return err
}

// checkFirstUse accepts tip without a base if the signer of its tree may change the whole tree. If the signer of tip may
// not change files, checkFirstUse walks down first parents to the nearest commit whose signer may.
func (p *Policy) checkFirstUse(ctx context.Context, repo *gitsource.Repository, tip gitsource.ID) ([]SignedCommit, admitted, error) {
	var path []admitted
	for id := tip; ; {
		a, err := p.admit(ctx, repo, id)
		if err != nil {
			return nil, admitted{}, err
		}
		path = append(path, a)
		if a.signer.may(RoleChange) || len(a.parents) == 0 || len(path) == MaxCommits {
			break
		}
		id = a.parents[0]
	}
	slices.Reverse(path)
	commits, err := p.judge(ctx, repo, path, "", time.Time{})
	return commits, path[len(path)-1], err
}

// checkPath verifies the commits of a lineage that the history mode requires and that are not sealed, and judges them.
func (p *Policy) checkPath(ctx context.Context, repo *gitsource.Repository, l lineage, since time.Time) ([]SignedCommit, admitted, error) {
	before, err := readCommit(ctx, repo, l.floor)
	if err != nil {
		return nil, admitted{}, err
	}
	for _, id := range l.path {
		if err := p.deniedUnverified(ctx, repo, id); err != nil {
			return nil, admitted{}, err
		}
	}
	verified, err := p.admitPath(ctx, repo, l)
	if err != nil {
		return nil, admitted{}, wayOut(ctx, repo, l, err)
	}
	commits, err := p.judge(ctx, repo, verified, before.tree, since)
	return commits, verified[len(verified)-1], err
}

// admitPath verifies the commits that the history mode requires, and returns the verified commits of the path.
func (p *Policy) admitPath(ctx context.Context, repo *gitsource.Repository, l lineage) ([]admitted, error) {
	if p.options.History == HistoryTip {
		return p.admitAll(ctx, repo, l.path[len(l.path)-1:])
	}
	found, err := p.readSeals(ctx, repo, l)
	if err != nil {
		return nil, err
	}
	if p.options.History == HistoryAll {
		if err := p.checkSideBranches(ctx, repo, l, found); err != nil {
			return nil, err
		}
	}
	verified, err := p.admitAll(ctx, repo, found.unsealed(l.path))
	if err != nil {
		return nil, found.explain(l.path, err)
	}
	for i := range verified {
		found.mark(&verified[i])
	}
	return verified, nil
}

// checkSideBranches verifies the commits that merges on the path bring in, each against its own first parent.
func (p *Policy) checkSideBranches(ctx context.Context, repo *gitsource.Repository, l lineage, found seals) error {
	sealed, err := found.sealedCommits(ctx, repo, maxWalk)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(sealed)) {
		if err := p.deniedUnverified(ctx, repo, id); err != nil {
			return err
		}
	}
	sides, err := sideBranchCommits(ctx, repo, l, sealed)
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
		if err := p.authorizeChange(ctx, repo, a, before); err != nil {
			return err
		}
	}
	return nil
}

// judge applies the rules that need the neighbours of a commit: the proven time does not go back, and each signer may
// make the change from the tree before the commit, and what authors made for other targets is adopted here. The tree before the first commit of path is before.
func (p *Policy) judge(ctx context.Context, repo *gitsource.Repository, path []admitted, before gitsource.ID, since time.Time) ([]SignedCommit, error) {
	commits, first := make([]SignedCommit, 0, len(path)), before
	for _, a := range path {
		if err := checkProvenTime(since, a); err != nil {
			return nil, err
		}
		if a.proof.provenTime.After(since) {
			since = a.proof.provenTime
		}
		if err := p.authorizeChange(ctx, repo, a, before); err != nil {
			return nil, err
		}
		if p.isForOthers(a.trailers) {
			a.mention = "" // its orders are for the agents of other clusters
		}
		parent, err := parentTreeForOrders(ctx, repo, a)
		if err != nil {
			return nil, err
		}
		signed := a.signedCommit(before, parent, p.options.Target)
		signed.promoted = p.promotedIn(a)
		signed.Elsewhere, signed.Here = p.isForOtherTargets(a.trailers), p.namesTarget(a.trailers)
		commits = append(commits, signed)
		before = a.tree
	}
	if err := p.checkAdopted(ctx, repo, path, first); err != nil {
		return nil, err
	}
	return commits, nil
}

// parentTreeForOrders returns the tree of the first parent if a's message mentions an order, and "" otherwise. The tree
// decides whether the commit gives orders.
func parentTreeForOrders(ctx context.Context, repo *gitsource.Repository, a admitted) (gitsource.ID, error) {
	if a.mention == "" {
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

// checkProvenTime refuses a commit whose proven time is more than maxClockSkew before since.
func checkProvenTime(since time.Time, a admitted) error {
	if !a.proof.provenTime.Before(since.Add(-maxClockSkew)) {
		return nil
	}
	return forCommit(a.id, refuse(ReasonTimeWentBack, "proven time %s, accepted before it %s",
		a.proof.provenTime.Format(time.RFC3339), since.Format(time.RFC3339)))
}

// checkTip applies the rules that concern only the tip: NotBefore and the target.
func (p *Policy) checkTip(tip admitted) error {
	if tip.proof.provenTime.Before(p.options.NotBefore) {
		return refuse(ReasonTooOld, "proven time %s", tip.proof.provenTime.Format(time.RFC3339))
	}
	return p.checkTarget(tip)
}

// admitAll admits every commit of ids in parallel on all processors. Of several refusals it returns the one for the first
// commit in ids, so that the same history is always refused for the same reason.
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
