package verify

import (
	"context"
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
	var path []gitsource.ID
	for id := to; id != from; {
		if len(path) == limit {
			return nil, at(to, refuse(ReasonTooManyCommits, "more than %d since %.12s", limit, string(from)))
		}
		o, err := readCommit(ctx, repo, id)
		if err != nil {
			return nil, err
		}
		path = append(path, id)
		if len(o.parents) == 0 {
			if from != "" {
				return nil, at(to, refuse(ReasonNotDescendant, "%s is not on the first-parent path", from))
			}
			break
		}
		id = o.parents[0]
	}
	slices.Reverse(path)
	return path, nil
}

// pathFrom is FirstParents within the limits of a step.
func pathFrom(ctx context.Context, repo *gitsource.Repository, floor, tip gitsource.ID) ([]gitsource.ID, error) {
	path, err := FirstParents(ctx, repo, floor, tip, maxWalk)
	if err != nil {
		return nil, err
	}
	if len(path) > maxCommits {
		return nil, at(tip, refuse(ReasonTooManyCommits, "got %d since %s", len(path), floor))
	}
	return path, nil
}

// sideCommits returns the commits reachable from path and neither on it nor reachable from floor: what merges bring in.
func sideCommits(ctx context.Context, repo *gitsource.Repository, path []gitsource.ID, floor gitsource.ID) ([]gitsource.ID, error) {
	seen := map[gitsource.ID]bool{floor: true}
	var merged []gitsource.ID
	for _, id := range path {
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
	if err := markAncestors(ctx, repo, floor, seen); err != nil {
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
		if len(sides)+len(path) == maxCommits {
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

// markAncestors adds every ancestor of id to seen.
func markAncestors(ctx context.Context, repo *gitsource.Repository, id gitsource.ID, seen map[gitsource.ID]bool) error {
	open := []gitsource.ID{id}
	for read := 0; len(open) > 0; read++ {
		if read == maxWalk {
			return at(id, refuse(ReasonTooManyCommits, "more than %d ancestors to compare side branches with", maxWalk))
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
