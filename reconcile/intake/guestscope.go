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

// checkGuestScopes refuses a revision in which a signer changed guests outside of the guests that the policy names for the signer. It lowers
// the manifests before and after each commit and compares them. So a changed class counts for every guest that uses it, and a changed file
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
		Hint: "let a signer who may change these guests sign the change, or extend the signer's guests in the agent's config",
	}
}

// changedGuests returns the labels of the guests whose intents differ before and after a commit, sorted. A changed Cluster has
// the label Cluster/NAME. A tree that does not parse is refused, because it concerns all guests.
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

// loadForScope loads a tree on one side of a commit. The tree before the first commit is empty and contains no guests.
func loadForScope(ctx context.Context, repo *gitsource.Repository, commit verify.SignedCommit, tree gitsource.ID, scope Scope) (manifest.Set, error) {
	if tree == "" {
		return manifest.Set{}, nil
	}
	set, err := Load(ctx, repo, commit.ID, tree, scope)
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		return manifest.Set{}, outOfScope(commit, fmt.Errorf("the changes by %s cannot be determined: %w", commit.Subject, refused.Err))
	case errors.Is(err, gitsource.ErrNoPath):
		return manifest.Set{}, nil
	}
	return set, err
}

func withoutPlace(c manifest.Cluster) manifest.Cluster {
	c.Origin = guest.Origin{}
	return c
}

// byLabel returns the desired guests by label, without their positions in files: moving a line is not a change.
func byLabel(set manifest.Set) map[string]guest.Desired {
	guests, err := set.Lower(nil)
	if err != nil {
		return nil // cannot happen: without assigned vmids there are no vmids that could collide
	}
	labelled := make(map[string]guest.Desired, len(guests))
	for _, d := range guests {
		labelled[d.Label()] = d.WithoutOrigins()
	}
	return labelled
}

// matchesAny reports whether a label matches one of the patterns, "VirtualMachine/web-*".
func matchesAny(patterns []string, label string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, label)
		return err == nil && ok
	})
}
