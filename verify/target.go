package verify

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/gitsource"
)

// maxTargets is how many targets a commit may name.
const maxTargets = 16

// Candidate returns the commit of a branch that the next Check is about: the newest one along first parents that does not name only other clusters. With
// another binding than BindingTrailer this is the head. Candidate verifies nothing and accepts nothing. A commit that it passes over counts as not
// seen yet: it is verified when a later candidate covers it. A commit that cannot be read or names no target is returned, so that Check refuses it.
// If every commit names only other clusters, or the newest 50,000 do, Candidate returns the head.
func (p *Policy) Candidate(ctx context.Context, repo *gitsource.Repository, head gitsource.ID) (gitsource.ID, error) {
	if p.options.Binding != BindingTrailer {
		return head, nil
	}
	id := head
	for range maxWalk {
		o, err := readCommit(ctx, repo, id)
		switch {
		case isRefusal(err):
			return id, nil
		case err != nil:
			return "", err
		case !p.isForOthers(parseTrailers(o.message)):
			return id, nil
		case len(o.parents) == 0:
			return head, nil
		}
		id = o.parents[0]
	}
	return head, nil
}

// What Passed keeps at most. Anybody who can push writes these commits.
const (
	maxNamed  = 100 // targets
	maxPassed = 100 // commits
)

// Passed describes the commits above a candidate along first parents. They name only other targets.
type Passed struct {
	Commits int
	Targets []string       // that they name, sorted: the first 100 that are found
	Newest  []PassedCommit // the newest first, at most 100
	Tree    gitsource.ID   // of the head; not verified
}

// PassedCommit is a commit above a candidate.
type PassedCommit struct {
	ID      gitsource.ID
	Targets []string // those in Passed.Targets
}

// PassedBetween reads the commits between a candidate and the head above it.
func PassedBetween(ctx context.Context, repo *gitsource.Repository, head, candidate gitsource.ID) (Passed, error) {
	named, passed := map[string]string{}, Passed{}
	for id := head; id != candidate && passed.Commits < maxWalk; passed.Commits++ {
		o, err := readCommit(ctx, repo, id)
		if err != nil {
			return Passed{}, err
		}
		if passed.Commits == 0 {
			passed.Tree = o.tree
		}
		commit := PassedCommit{ID: id}
		for _, target := range values(parseTrailers(o.message), trailerTarget) {
			kept, isKept := named[target]
			if !isKept && len(named) < maxNamed {
				kept, isKept = strings.Clone(target), true // the message is not kept for it
				named[kept] = kept
			}
			if isKept {
				commit.Targets = append(commit.Targets, kept)
			}
		}
		if len(passed.Newest) < maxPassed {
			passed.Newest = append(passed.Newest, commit)
		}
		if len(o.parents) == 0 {
			passed.Commits++
			break
		}
		id = o.parents[0]
	}
	passed.Targets = slices.Sorted(maps.Keys(named))
	return passed, nil
}

// isForOthers reports whether a commit names targets in the right form, and none of this cluster. It is false if the policy does not bind by trailers.
func (p *Policy) isForOthers(trailers []trailer) bool {
	named := values(trailers, trailerTarget)
	if p.options.Binding != BindingTrailer || len(named) == 0 || targetProblem(named) != "" {
		return false
	}
	own := strings.TrimSuffix(p.options.Target, p.options.Branch)
	return !slices.ContainsFunc(named, func(target string) bool { return strings.HasPrefix(target, own) })
}

// checkTarget refuses a tip that does not name this target. The refusal has the command that adds the target, where a trailer is all that is missing.
func (p *Policy) checkTarget(tip admitted) error {
	if p.options.Binding != BindingTrailer {
		return nil
	}
	named := values(tip.trailers, trailerTarget)
	if problem := targetProblem(named); problem != "" {
		return refuse(ReasonWrongTarget, "%s", problem)
	}
	if !slices.Contains(named, p.options.Target) {
		return refuse(ReasonWrongTarget, "message does not end with the trailer %s: %s; got target %q%s", trailerTarget, p.options.Target, strings.Join(named, ", "),
			p.amendCommand(tip, named))
	}
	return nil
}

// amendCommand returns the command that adds the target to the tip, after a separator, or "" where git would not add the trailer in the right form.
func (p *Policy) amendCommand(tip admitted, named []string) string {
	if !tip.takesTrailer || strings.Contains(p.options.Target, "'") || targetProblem(append(slices.Clone(named), p.options.Target)) != "" {
		return ""
	}
	return fmt.Sprintf("; if the commit is meant for it: git commit --amend --no-edit --allow-empty --gpg-sign --trailer '%s: %s'", trailerTarget, p.options.Target)
}

// takesTrailer reports whether git adds a trailer to the message in the form that parseTrailers reads. A last paragraph that only resembles trailers may
// get the line as its own, and would still not be one of trailers.
func takesTrailer(message []byte, trailers []trailer) bool {
	if len(trailers) > 0 {
		return len(trailers) < maxTrailers
	}
	if bytes.Contains(bytes.ToLower(message), []byte(strings.ToLower(trailerPrefix))) {
		return false
	}
	text := bytes.TrimRight(message, "\n")
	gap := bytes.LastIndex(text, []byte("\n\n"))
	return len(text) > 0 && (gap < 0 || !bytes.ContainsAny(text[gap:], ":("))
}

// targetProblem returns what is wrong with the targets of a commit, or "". It does not depend on the target of the agent, so that all agents of a branch
// agree about it. A commit for two branches of one cluster would not say which of them the cluster has to follow.
func targetProblem(named []string) string {
	if len(named) > maxTargets {
		return fmt.Sprintf("trailer %s occurs %d times, want at most %d", trailerTarget, len(named), maxTargets)
	}
	clusters := make(map[string]bool, len(named))
	for _, target := range named {
		cluster, branch, _ := strings.Cut(target, "/")
		if cluster == "" || branch == "" {
			return fmt.Sprintf("target %q is not <cluster>/<branch>", target)
		}
		if clusters[cluster] {
			return fmt.Sprintf("trailer %s names the cluster %q twice", trailerTarget, cluster)
		}
		clusters[cluster] = true
	}
	return ""
}

// TipProblem returns a refusal if a commit that Audit accepts cannot be the tip of the branch for what it says itself: its target. It returns nil for a commit
// that names only other clusters, because the agent passes over it. Only Check decides.
func (p *Policy) TipProblem(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) error {
	o, err := readCommit(ctx, repo, id)
	if err != nil {
		return err
	}
	trailers := parseTrailers(o.message)
	if p.isForOthers(trailers) {
		return nil
	}
	return forCommit(id, p.checkTarget(admitted{id: id, trailers: trailers, takesTrailer: takesTrailer(o.message, trailers)}))
}
