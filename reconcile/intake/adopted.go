package intake

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
	"gitops-agent/verify/scope"
)

// elsewhere is what commits changed for other targets than this one, and what no signer has made for this one yet.
type elsewhere struct {
	by      verify.SignedCommit // the last of them
	changes authored
	paths   []string // that they changed
}

// notAdopted are the changes for other targets, oldest first. verify.Policy.Check compares the paths of the signer who brings them into force here; this type compares guests. It needs to
// know them only if the guests of a signer are limited.
type notAdopted struct {
	limited bool
	open    []elsewhere
}

func newNotAdopted(commits []verify.SignedCommit) notAdopted {
	return notAdopted{limited: slices.ContainsFunc(commits, func(c verify.SignedCommit) bool { return len(c.Guests) > 0 })}
}

// concerns reports whether the manifests before and after a commit have to be compared for it.
func (n *notAdopted) concerns(commit verify.SignedCommit) bool { return n.limited && commit.Elsewhere }

// note adds what some commits changed, if one of them was for other targets.
func (n *notAdopted) note(ctx context.Context, repo *gitsource.Repository, c authored, commits []verify.SignedCommit) error {
	e := elsewhere{changes: c}
	for _, commit := range commits {
		if !n.concerns(commit) {
			continue
		}
		changed, err := repo.Changed(ctx, commit.Before, commit.Tree)
		if err != nil {
			return filesUnknown(commit, err)
		}
		e.by, e.paths = commit, append(e.paths, changed...)
	}
	if e.by.ID != "" {
		n.open = append(n.open, e)
	}
	return nil
}

// adopt removes what a commit for this target may bring into force: its signer may change files, each of these, and each of the guests. One signer has to be allowed both: two with limits
// of different kinds must not release together what neither of them may change.
func (n *notAdopted) adopt(commit verify.SignedCommit) {
	if commit.Here && slices.Contains(commit.Roles, verify.RoleChange) {
		n.open = slices.DeleteFunc(n.open, func(e elsewhere) bool {
			isOutside := func(path string) bool { return !commit.MayChangePath(path) }
			return !slices.ContainsFunc(e.paths, isOutside) && (len(commit.Guests) == 0 || len(e.changes.outside(commit)) == 0)
		})
	}
}

// check refuses a revision for a guest that differs from the tree before its commits, that a commit for other targets changed, and that no signer changed for this one.
func (n *notAdopted) check(ctx context.Context, t *tracer, commits []verify.SignedCommit) error {
	if len(n.open) == 0 {
		return nil
	}
	first, tip := commits[0], commits[len(commits)-1]
	before, err := t.load(ctx, first, first.Before)
	if err != nil && !isRefusal(err) {
		return err
	}
	after, err := t.load(ctx, tip, tip.Tree)
	if err != nil {
		return err
	}
	differs := compare(before, after, nil).labels()
	for _, e := range n.open {
		changed := slices.DeleteFunc(e.changes.labels(), func(label string) bool { return !slices.Contains(differs, label) })
		mayChange := tip.Here && slices.Contains(tip.Roles, verify.RoleChange) // Check has compared its paths
		outside := slices.DeleteFunc(changed, func(label string) bool {
			return mayChange && (len(tip.Guests) == 0 || scope.MatchesAny(tip.Guests, label))
		})
		if len(outside) > 0 {
			return &RefusedError{Commit: tip.ID, Reason: report.RefusedScope, Hint: "let a signer who may change these guests sign a commit that names this cluster", Err: fmt.Errorf(
				"%s may not change %s, which commit %.12s by %s changed for other targets only, and would bring it into force",
				tip.Subject, strings.Join(outside, ", "), string(e.by.ID), e.by.Subject)}
		}
	}
	return nil
}
