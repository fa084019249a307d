package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/gitsource"
	"gitops-agent/verify/role"
)

// A span is the range that a seal names: the commits after from, up to and including to, along first parents, and the
// commits that they merged.
type span struct {
	from, to gitsource.ID
}

func (s span) String() string { return string(s.from) + ".." + string(s.to) }

// parseSpan reads two full commit ids. It refuses short ids and names, because these can mean another commit later.
func parseSpan(text string) (span, error) {
	from, to, _ := strings.Cut(text, "..")
	first, err := gitsource.ParseID(from)
	if err != nil {
		return span{}, fmt.Errorf("range %q: want <full id>..<full id>: %w", text, err)
	}
	last, err := gitsource.ParseID(to)
	if err != nil {
		return span{}, fmt.Errorf("range %q: want <full id>..<full id>: %w", text, err)
	}
	if first == last {
		return span{}, fmt.Errorf("range %q contains no commit", text)
	}
	return span{first, last}, nil
}

// mentionsSeal reports whether a message contains the text of a seal trailer anywhere.
func mentionsSeal(message []byte) bool { return bytes.Contains(message, []byte(trailerSeal+":")) }

// seals are the seals found on a path. A sealed commit needs no signature of its own: the signed range fixes its id, and
// the id fixes its content and its ancestors.
type seals struct {
	spans []span                          // ranges of the valid seals, newest first
	by    map[gitsource.ID][]gitsource.ID // by valid seal, the commits of the path that it seals, oldest first
	void  map[gitsource.ID]error          // by commit whose message mentions a seal and that seals nothing, the reason
}

// SealedBy returns, for an audit, the sealed commits after from, up to and including to, along first parents. The value of
// each is the commit that seals it. If from is "", the range begins with the first commit of the history. SealedBy applies
// the rules of HistoryFirstParent and HistoryAll to seals, for every mode of the policy. It returns the same refusals as
// FirstParents.
func (p *Policy) SealedBy(ctx context.Context, repo *gitsource.Repository, from, to gitsource.ID, limit int) (map[gitsource.ID]gitsource.ID, error) {
	l, err := walkFirstParents(ctx, repo, from, to, limit, nil)
	if err != nil {
		return nil, err
	}
	found, err := p.readSeals(ctx, repo, l)
	if err != nil {
		return nil, err
	}
	by := map[gitsource.ID]gitsource.ID{}
	for seal, sealed := range found.by {
		for _, id := range sealed {
			by[id] = seal
		}
	}
	return by, nil
}

// readSeals finds the valid seals on the path of l, newest first. It skips seals in sealed commits. A seal that is not
// valid is not refused: the commits of its range are then verified like all others.
func (p *Policy) readSeals(ctx context.Context, repo *gitsource.Repository, l lineage) (seals, error) {
	found := seals{by: map[gitsource.ID][]gitsource.ID{}, void: map[gitsource.ID]error{}}
	below := &ancestry{start: l.floor}
	lowest := len(l.path)
	for _, candidate := range slices.Backward(l.sealCandidates) {
		if candidate >= lowest {
			continue
		}
		id := l.path[candidate]
		s, err := p.readSeal(ctx, repo, id)
		var start int
		if err == nil {
			start, err = l.rangeStart(ctx, repo, s, candidate, below)
		}
		switch {
		case isRefusal(err), errors.As(err, new(voidError)): // if the commit itself must be refused, admitPath does so
			found.void[id] = err
		case err != nil:
			return seals{}, err
		default:
			lowest = start
			found.spans = append(found.spans, s)
			found.by[id] = slices.Clone(l.path[start:candidate])
		}
	}
	return found, nil
}

// A voidError is the reason why a commit whose message mentions a seal seals nothing.
type voidError string

func (e voidError) Error() string { return string(e) }

func void(format string, args ...any) error { return voidError(fmt.Sprintf(format, args...)) }

// readSeal verifies a commit that seals and returns the range. It checks that the commit does nothing else, that its
// signer has RoleSeal, and that the range ends at the parent. rangeStart checks where the range begins.
func (p *Policy) readSeal(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) (span, error) {
	a, err := p.admit(ctx, repo, id)
	if err != nil {
		return span{}, err
	}
	before, err := parentTree(ctx, repo, a)
	if err != nil {
		return span{}, err
	}
	if problem := trailerCommitProblem(a, a.tree == before); problem != "" {
		return span{}, void("%s", problem)
	}
	ranges := values(a.trailers, trailerSeal)
	switch {
	case len(ranges) != 1:
		return span{}, void("trailer %s occurs %d times, want once", trailerSeal, len(ranges))
	case !a.signer.may(RoleSeal):
		return span{}, void("%s", role.Missing(a.signer.Name, a.signer.May, RoleSeal))
	}
	s, err := parseSpan(ranges[0])
	switch {
	case err != nil:
		return span{}, void("%v", err)
	case s.to != a.parents[0]:
		return span{}, void("range ends at %.7s, want %.7s, the parent of the seal", s.to, a.parents[0])
	}
	return s, nil
}

// rangeStart returns the position on the path of the first commit of s. The seal itself is at position seal.
func (l lineage) rangeStart(ctx context.Context, repo *gitsource.Repository, s span, seal int, below *ancestry) (int, error) {
	if at := slices.Index(l.path[:seal], s.from); at >= 0 {
		return at + 1, nil
	}
	depth, err := below.depth(ctx, repo, s.from)
	switch {
	case err != nil:
		return 0, err
	case depth < 0 || depth+seal > MaxCommits:
		return 0, void("range begins at %.7s, which is not among the %d first parents below the seal", s.from, MaxCommits)
	}
	return 0, nil
}

// An ancestry holds the first parents below start with their depths. It is read on the first call of depth.
type ancestry struct {
	start  gitsource.ID
	depths map[gitsource.ID]int
}

// depth returns how many steps along first parents lead from start to id, or -1 if id is not among the next MaxCommits.
func (a *ancestry) depth(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) (int, error) {
	if id == a.start {
		return 0, nil
	}
	if a.depths == nil && a.start != "" {
		a.depths = map[gitsource.ID]int{}
		for next, depth := a.start, 0; depth <= MaxCommits; depth++ {
			a.depths[next] = depth
			o, err := readCommit(ctx, repo, next)
			if err != nil && !isRefusal(err) {
				return 0, err
			}
			if err != nil || len(o.parents) == 0 {
				break
			}
			next = o.parents[0]
		}
	}
	if depth, found := a.depths[id]; found {
		return depth, nil
	}
	return -1, nil
}

// unsealed returns the commits of path that no seal covers.
func (s seals) unsealed(path []gitsource.ID) []gitsource.ID {
	sealed := map[gitsource.ID]bool{}
	for _, ids := range s.by {
		for _, id := range ids {
			sealed[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(path), func(id gitsource.ID) bool { return sealed[id] })
}

// mark sets on a verified commit the commits that it seals, or why it seals nothing.
func (s seals) mark(a *admitted) {
	a.sealed, a.voidSeal = s.by[a.id], ""
	if reason := s.void[a.id]; reason != nil {
		a.voidSeal = "the seal does not count: " + reason.Error()
	}
}

// explain adds to the refusal of a commit why the nearest seal above the commit does not count.
func (s seals) explain(path []gitsource.ID, err error) error {
	var rejected *RejectedError
	if !errors.As(err, &rejected) {
		return err
	}
	for _, id := range path[slices.Index(path, rejected.Commit)+1:] {
		if reason := s.void[id]; reason != nil {
			explained := *rejected
			explained.Err = fmt.Errorf("the seal %.7s does not count: %w", id, reason)
			if rejected.Err != nil {
				explained.Err = fmt.Errorf("%w; %w", rejected.Err, explained.Err)
			}
			return &explained
		}
	}
	return err
}

// sealedCommits returns every commit that the valid seals cover, also on side branches: the commits that are reachable from
// the end of a range and not from its beginning. It refuses to read more than limit commits above or below the beginning.
func (s seals) sealedCommits(ctx context.Context, repo *gitsource.Repository, limit int) (map[gitsource.ID]bool, error) {
	all := map[gitsource.ID]bool{}
	for _, span := range s.spans {
		below := map[gitsource.ID]bool{span.from: true}
		if err := markAncestors(ctx, repo, span.from, below, limit); err != nil {
			return nil, err
		}
		open := []gitsource.ID{span.to}
		for read := 0; len(open) > 0; read++ {
			id := open[len(open)-1]
			open = open[:len(open)-1]
			if below[id] || all[id] {
				continue
			}
			if read >= limit {
				return nil, forCommit(id, refuse(ReasonTooManyCommits, "a seal covers more than %d", limit))
			}
			all[id] = true
			o, err := readCommit(ctx, repo, id)
			if err != nil {
				return nil, err
			}
			open = append(open, o.parents...)
		}
	}
	return all, nil
}

// isRefusal reports whether err is a refusal, in contrast to a failure to read.
func isRefusal(err error) bool { return errors.As(err, new(*RejectedError)) }
