package intake

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// checkGuestScopes refuses a revision in which a signer, whose policy names guests, changed others. What a commit changed is
// found by lowering the manifests before and after it, so a class counts for every guest that uses it, and a file
// that changes nothing for a guest does not count.
func checkGuestScopes(ctx context.Context, repo *gitsource.Repository, rev verify.Revision, scope Scope) error {
	for _, commit := range rev.Commits() {
		if len(commit.Guests) == 0 || commit.Tree == commit.Before {
			continue
		}
		changed, err := changedGuests(ctx, repo, commit, scope)
		if err != nil {
			return err
		}
		if outside := slices.DeleteFunc(changed, func(label string) bool { return matchesAny(commit.Guests, label) }); len(outside) > 0 {
			return outOfScope(commit, fmt.Errorf("%s may change %s and changed %s",
				commit.Subject, strings.Join(commit.Guests, ", "), strings.Join(outside, ", ")))
		}
	}
	return nil
}

func outOfScope(commit verify.SignedCommit, err error) error {
	return &RefusedError{
		Commit: commit.ID, Reason: report.RefusedScope, Err: err,
		Hint: "let somebody sign the change who may make it, or widen guests of the signer in the agent's config",
	}
}

// changedGuests returns the labels of the guests whose intents differ before and after a commit, sorted. The Cluster and a
// tree that does not parse concern all guests.
func changedGuests(ctx context.Context, repo *gitsource.Repository, commit verify.SignedCommit, scope Scope) ([]string, error) {
	before, err := loadForScope(ctx, repo, commit, commit.Before, scope)
	if err != nil {
		return nil, err
	}
	after, err := loadForScope(ctx, repo, commit, commit.Tree, scope)
	if err != nil {
		return nil, err
	}
	var changed []string
	if withoutPlace(before.Cluster) != withoutPlace(after.Cluster) {
		changed = append(changed, "Cluster/"+after.Cluster.Name)
	}
	old, now := byLabel(before), byLabel(after)
	for label, d := range now {
		if !reflect.DeepEqual(old[label], d) {
			changed = append(changed, label)
		}
	}
	for label := range old {
		if _, still := now[label]; !still {
			changed = append(changed, label)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

// loadForScope loads a tree on one side of a commit. The empty tree before a first commit wants nothing.
func loadForScope(ctx context.Context, repo *gitsource.Repository, commit verify.SignedCommit, tree gitsource.ID, scope Scope) (manifest.Set, error) {
	if tree == "" {
		return manifest.Set{}, nil
	}
	set, err := Load(ctx, repo, commit.ID, tree, scope)
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		return manifest.Set{}, outOfScope(commit, fmt.Errorf("what %s changed cannot be told: %w", commit.Subject, refused.Err))
	case errors.Is(err, gitsource.ErrNoPath):
		return manifest.Set{}, nil
	}
	return set, err
}

func withoutPlace(c manifest.Cluster) manifest.Cluster {
	c.Origin = guest.Origin{}
	return c
}

// byLabel returns what is wanted of each guest, without the places that asked for it: moving a line is no change.
func byLabel(set manifest.Set) map[string]guest.Desired {
	guests, err := set.Lower(nil)
	if err != nil {
		return nil // cannot be: without assigned vmids there is nothing that could clash
	}
	labelled := make(map[string]guest.Desired, len(guests))
	for _, d := range guests {
		labelled[d.Label()] = d.WithoutOrigins()
	}
	return labelled
}

// matchesAny reports whether a label fits one of the patterns, "VirtualMachine/web-*".
func matchesAny(patterns []string, label string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, label)
		return err == nil && ok
	})
}
