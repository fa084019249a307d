package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gitops-agent/gitsource"
)

// wayOut returns a refusal of a commit without a signature of gitsign with the remedy for its place in the history. A merge of a forge has no signature of a
// person, and a signed commit on top of either does not help. Every other error is returned unchanged.
func wayOut(ctx context.Context, repo *gitsource.Repository, l lineage, err error) error {
	var rejected *RejectedError
	if !errors.As(err, &rejected) || rejected.Reason != ReasonUnsigned && rejected.Reason != ReasonNotSigstore || !slices.Contains(l.path, rejected.Commit) {
		return err
	}
	o, readErr := readCommit(ctx, repo, rejected.Commit)
	if readErr != nil {
		return err // the refusal stands without a better remedy
	}
	named := *rejected
	named.Hint = hintInPlace(l, rejected.Commit, o.parents, rejected.Hint)
	return &named
}

// hintInPlace returns the remedy for a commit of a path with these parents that has no signature.
func hintInPlace(l lineage, id gitsource.ID, parents []gitsource.ID, hint string) string {
	tip := l.path[len(l.path)-1]
	others := ", or let a signer with the role seal push a signed commit with the trailer Gitops-Seal: " + string(l.floor) + ".." + string(tip) + "; a signed commit on top alone does not help"
	switch {
	case len(parents) > 1:
		hint = string(id) + " is a merge that no person signed, as a forge makes it: merge locally with git reset --hard " + string(parents[0]) + " && git merge --no-ff -S " + string(parents[1]) + others
	case len(parents) == 1 && id != tip:
		hint = "sign it and those above it again: git rebase --rebase-merges --exec 'git commit --amend --no-edit --allow-empty -S' " + string(parents[0]) + others
	}
	return hint
}

// tooManySince returns a refusal for too many commits above an accepted revision with the remedies for that: the anchor has no effect then. Every other error is
// returned unchanged.
func tooManySince(base Base, tip gitsource.ID, err error) error {
	var rejected *RejectedError
	if base.Commit == "" || !errors.As(err, &rejected) || rejected.Reason != ReasonTooManyCommits {
		return err
	}
	named := *rejected
	named.Hint = fmt.Sprintf("trust.anchor has no effect after the first revision: move the branch back to a commit at most %d above %s, and forward in such steps when each is in force; or review the commits, and run gitops-agent allow-rewrite %s on the agent's host, which accepts this commit without those below it",
		MaxCommits, base.Commit, tip)
	return &named
}
