package verify

import (
	"context"
	"maps"
	"slices"

	"gitops-agent/gitsource"
)

const (
	// maxCommits is how many commits may be accepted at once.
	maxCommits = 1000
	// maxWalk is how far back a commit is looked for, to tell a long history from a rewritten one.
	maxWalk = 50_000
)

// FirstParents returns the commits after from, up to and with to, along first parents, oldest first; from "" means from
// the beginning. Nothing is verified. It refuses a history that does not contain from (not-descendant), one that lacks
// objects (incomplete-history), and one with more than limit commits in between (too-many-commits).
func FirstParents(ctx context.Context, repo *gitsource.Repository, from, to gitsource.ID, limit int) ([]gitsource.ID, error) {
	l, err := walk(ctx, repo, from, to, limit)
	return l.path, err
}

// A lineage is a way through history along first parents.
type lineage struct {
	floor  gitsource.ID   // where it starts from; not on path
	path   []gitsource.ID // oldest first
	claims []int          // where on path a message seems to seal, in order
}

func walk(ctx context.Context, repo *gitsource.Repository, from, to gitsource.ID, limit int) (lineage, error) {
	l := lineage{floor: from}
	for id := to; id != from; {
		if len(l.path) == limit {
			return lineage{}, at(to, refuse(ReasonTooManyCommits, "more than %d since %.12s", limit, string(from)))
		}
		o, err := readCommit(ctx, repo, id)
		if err != nil {
			return lineage{}, err
		}
		if seemsSeal(o.message) {
			l.claims = append(l.claims, len(l.path))
		}
		l.path = append(l.path, id)
		if len(o.parents) == 0 {
			if from != "" {
				return lineage{}, at(to, refuse(ReasonNotDescendant, "%s is not on the first-parent path", from))
			}
			break
		}
		id = o.parents[0]
	}
	return l.reversed(), nil
}

// reversed turns a lineage that was walked down into one that leads up.
func (l lineage) reversed() lineage {
	slices.Reverse(l.path)
	slices.Reverse(l.claims)
	for i, claim := range l.claims {
		l.claims[i] = len(l.path) - 1 - claim
	}
	return l
}

// lineageFrom is walk within the limits of a step.
func lineageFrom(ctx context.Context, repo *gitsource.Repository, floor, tip gitsource.ID) (lineage, error) {
	l, err := walk(ctx, repo, floor, tip, maxWalk)
	if err != nil {
		return lineage{}, err
	}
	if len(l.path) > maxCommits {
		return lineage{}, at(tip, refuse(ReasonTooManyCommits, "got %d since %s", len(l.path), floor))
	}
	return l, nil
}

// sideCommits returns the commits reachable from the path of l and neither on it nor reachable from its floor, and not
// among those excused: what merges bring in.
func sideCommits(ctx context.Context, repo *gitsource.Repository, l lineage, excused map[gitsource.ID]bool) ([]gitsource.ID, error) {
	seen := maps.Clone(excused)
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
		if len(sides)+len(l.path) == maxCommits {
			return nil, at(id, refuse(ReasonTooManyCommits, "more than %d with the side branches", maxCommits))
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

// markAncestors adds every ancestor of id to seen. It reads limit commits at most.
func markAncestors(ctx context.Context, repo *gitsource.Repository, id gitsource.ID, seen map[gitsource.ID]bool, limit int) error {
	open := []gitsource.ID{id}
	for read := 0; len(open) > 0; read++ {
		if read == limit {
			return at(id, refuse(ReasonTooManyCommits, "more than %d ancestors to compare side branches with", limit))
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
