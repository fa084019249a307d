package verify

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"slices"

	"gitops-agent/gitsource"
)

const (
	// MaxCommits is how many commits may be accepted at once.
	MaxCommits = 1000
	// maxWalk is how many commits a walk reads at most. It is larger than MaxCommits so that a history that is too long is
	// not reported as a rewritten one.
	maxWalk = 50_000
)

// FirstParents returns the commits after from, up to and including to, along first parents, oldest first. If from is "",
// the list begins with the first commit of the history. FirstParents verifies nothing. It returns a *RejectedError if the
// history does not contain from (not-descendant), or has more than limit commits after from (too-many-commits). It also
// returns one if a commit does not show its parents (incomplete-history, malformed, too-large): that commit is then the first
// one of the list. FirstParents calls seen, unless it is nil, with the number of commits after it read one.
func FirstParents(ctx context.Context, repo *gitsource.Repository, from, to gitsource.ID, limit int, seen func(n int)) ([]gitsource.ID, error) {
	l, err := walkFirstParents(ctx, repo, from, to, limit, seen)
	var rejected *RejectedError
	if errors.As(err, &rejected) && slices.Contains([]Reason{ReasonIncompleteHistory, ReasonMalformed, ReasonTooLarge}, rejected.Reason) {
		l.path = append(l.path, rejected.Commit)
		return l.reversed().path, err
	}
	if err != nil {
		return nil, err
	}
	return l.path, nil
}

// A lineage is a path through a history along first parents.
type lineage struct {
	// floor is the commit below the path; not on path. Its id is that in the history, which may differ from the one that was asked for.
	floor          gitsource.ID
	path           []gitsource.ID // oldest first
	sealCandidates []int          // positions on path of the commits whose messages mention a seal, in ascending order
}

// walkFirstParents returns the path from one commit to another. If a commit cannot be read, it returns the commits above it, newest first, with the error.
func walkFirstParents(ctx context.Context, repo *gitsource.Repository, from, to gitsource.ID, limit int, seen func(n int)) (lineage, error) {
	payload, err := payloadOf(ctx, repo, from)
	if err != nil {
		return lineage{}, err
	}
	l := lineage{floor: from}
	for id := to; id != from; {
		o, err := readCommit(ctx, repo, id)
		if err != nil {
			return l, err
		}
		if payload != nil && o.digest() == *payload {
			l.floor = id
			break
		}
		if len(l.path) == limit {
			return lineage{}, forCommit(to, refuse(ReasonTooManyCommits, "more than %d since %.12s", limit, string(from)))
		}
		if mentionsSeal(o.message) {
			l.sealCandidates = append(l.sealCandidates, len(l.path))
		}
		l.path = append(l.path, id)
		if seen != nil {
			seen(len(l.path))
		}
		if len(o.parents) == 0 {
			if from != "" {
				return lineage{}, forCommit(to, refuse(ReasonNotDescendant, "%s is not on the first-parent path", from))
			}
			break
		}
		id = o.parents[0]
	}
	return l.reversed(), nil
}

// payloadOf returns the digest of the payload of a commit, by which a history that has the commit under another id is recognised. It returns nil if the
// commit is not in the repository or has no payload: then only its id counts.
func payloadOf(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) (*[sha256.Size]byte, error) {
	if id == "" {
		return nil, nil //nolint:nilnil // the empty history has no commit
	}
	o, err := readCommit(ctx, repo, id)
	var rejected *RejectedError
	switch {
	case errors.As(err, &rejected):
		return nil, nil //nolint:nilnil // see above
	case err != nil:
		return nil, err
	}
	digest := o.digest()
	return &digest, nil
}

// reversed turns a lineage from newest first into oldest first.
func (l lineage) reversed() lineage {
	slices.Reverse(l.path)
	slices.Reverse(l.sealCandidates)
	for i, candidate := range l.sealCandidates {
		l.sealCandidates[i] = len(l.path) - 1 - candidate
	}
	return l
}

// boundedLineage is walkFirstParents with the limits for one acceptance: maxWalk commits read, MaxCommits on the path.
func boundedLineage(ctx context.Context, repo *gitsource.Repository, floor, tip gitsource.ID) (lineage, error) {
	l, err := walkFirstParents(ctx, repo, floor, tip, maxWalk, nil)
	if err != nil {
		return lineage{}, err
	}
	if len(l.path) > MaxCommits {
		return lineage{}, forCommit(tip, refuse(ReasonTooManyCommits, "got %d since %s", len(l.path), floor))
	}
	return l, nil
}

// sideBranchCommits returns the commits that merges on the path of l bring in: reachable from the path, not on it, not
// reachable from its floor, and not in sealed.
func sideBranchCommits(ctx context.Context, repo *gitsource.Repository, l lineage, sealed map[gitsource.ID]bool) ([]gitsource.ID, error) {
	seen := maps.Clone(sealed)
	seen[l.floor] = true
	var merged []gitsource.ID
	for _, id := range l.path {
		seen[id] = true
		o, err := readCommit(ctx, repo, id)
		if err != nil {
			return nil, err
		}
		if len(o.parents) > 1 {
			merged = append(merged, o.parents[1:]...)
		}
	}
	if len(merged) == 0 {
		return nil, nil
	}
	if err := markAncestors(ctx, repo, l.floor, seen, maxWalk); err != nil {
		return nil, err
	}
	var sides []gitsource.ID
	for len(merged) > 0 {
		id := merged[len(merged)-1]
		merged = merged[:len(merged)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		if len(sides)+len(l.path) == MaxCommits {
			return nil, forCommit(id, refuse(ReasonTooManyCommits, "more than %d with the side branches", MaxCommits))
		}
		sides = append(sides, id)
		o, err := readCommit(ctx, repo, id)
		if err != nil {
			return nil, err
		}
		merged = append(merged, o.parents...)
	}
	return sides, nil
}

// markAncestors adds every ancestor of id to seen. It refuses to read more than limit commits.
func markAncestors(ctx context.Context, repo *gitsource.Repository, id gitsource.ID, seen map[gitsource.ID]bool, limit int) error {
	open := []gitsource.ID{id}
	for read := 0; len(open) > 0; read++ {
		if read == limit {
			return forCommit(id, refuse(ReasonTooManyCommits, "more than %d ancestors to compare side branches with", limit))
		}
		next := open[len(open)-1]
		open = open[:len(open)-1]
		o, err := readCommit(ctx, repo, next)
		if err != nil {
			return err
		}
		for _, parent := range o.parents {
			if !seen[parent] {
				seen[parent] = true
				open = append(open, parent)
			}
		}
	}
	return nil
}
