package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitops-agent/gitsource"
)

// A span is what a seal names: the commits after from, up to and with to, along first parents, and what they merged.
type span struct {
	from, to gitsource.ID
}

func (s span) String() string { return string(s.from) + ".." + string(s.to) }

// parseSpan reads two full commit ids. Short ids and names mean another commit tomorrow.
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
		return span{}, fmt.Errorf("range %q names no commit", text)
	}
	return span{first, last}, nil
}

// seemsSeal says whether a message contains what looks like a seal anywhere.
func seemsSeal(message []byte) bool { return bytes.Contains(message, []byte(trailerSeal+":")) }

// seals are those found on a path. A commit that they vouch for needs no signature of its own: its id, and with it its
// content and everything it stands on, is fixed by the signed range.
type seals struct {
	spans []span                          // in force, newest first
	by    map[gitsource.ID][]gitsource.ID // commits of the path that each seal in force vouches for, oldest first
	void  map[gitsource.ID]string         // commits that seem to seal and do not, with the reason
}

// SealedBy returns, for an audit, which commits after from, up to and with to, along first parents, a seal among them vouches
// for, and the commit that seals; from "" means from the beginning. It counts seals as the history modes do that know them, and
// decides nothing. It refuses the histories that FirstParents refuses.
func (p *Policy) SealedBy(ctx context.Context, repo *gitsource.Repository, from, to gitsource.ID, limit int) (map[gitsource.ID]gitsource.ID, error) {
	way, err := walk(ctx, repo, from, to, limit)
	if err != nil {
		return nil, err
	}
	found, err := p.readSeals(ctx, repo, way)
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

// readSeals finds the seals in force on the path of l, from the newest down: a seal among sealed commits says nothing. A
// seal that does not count is no refusal; what it meant to vouch for is then verified like anything else.
func (p *Policy) readSeals(ctx context.Context, repo *gitsource.Repository, l lineage) (seals, error) {
	found := seals{by: map[gitsource.ID][]gitsource.ID{}, void: map[gitsource.ID]string{}}
	below := &ancestry{start: l.floor}
	lowest := len(l.path)
	for _, claim := range slices.Backward(l.claims) {
		if claim >= lowest {
			continue
		}
		id := l.path[claim]
		s, err := p.readSeal(ctx, repo, id)
		var start int
		if err == nil {
			start, err = l.begin(ctx, repo, s, claim, below)
		}
		switch {
		case isRefusal(err), errors.As(err, new(voidError)): // a commit that is to be refused itself is, where it is admitted
			found.void[id] = err.Error()
		case err != nil:
			return seals{}, err
		default:
			lowest = start
			found.spans = append(found.spans, s)
			found.by[id] = slices.Clone(l.path[start:claim])
		}
	}
	return found, nil
}

// A voidError says why a commit that seems to seal does not.
type voidError string

func (e voidError) Error() string { return string(e) }

func void(format string, args ...any) error { return voidError(fmt.Sprintf(format, args...)) }

// readSeal verifies the commit that seals, and what it can say without its place in history: that it does nothing else,
// that its signer may, and that it names the commits right below it.
func (p *Policy) readSeal(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) (span, error) {
	a, err := p.admit(ctx, repo, id)
	if err != nil {
		return span{}, err
	}
	before, err := parentTree(ctx, repo, a)
	if err != nil {
		return span{}, err
	}
	if problem := quietProblem(a, a.tree == before); problem != "" {
		return span{}, void("%s", problem)
	}
	ranges := values(a.trailers, trailerSeal)
	switch {
	case len(ranges) != 1:
		return span{}, void("trailer %s stands %d times among the last lines", trailerSeal, len(ranges))
	case !a.signer.may(RoleSeal):
		return span{}, void("signer %q lacks the role %s", a.signer.Name, RoleSeal)
	}
	s, err := parseSpan(ranges[0])
	switch {
	case err != nil:
		return span{}, void("%v", err)
	case s.to != a.parents[0]:
		return span{}, void("range ends at %.7s, and the parent of the seal is %.7s", s.to, a.parents[0])
	}
	return s, nil
}

// begin returns where on the path the commits of s begin; seal is where the seal itself stands.
func (l lineage) begin(ctx context.Context, repo *gitsource.Repository, s span, seal int, below *ancestry) (int, error) {
	if at := slices.Index(l.path[:seal], s.from); at >= 0 {
		return at + 1, nil
	}
	depth, err := below.depth(ctx, repo, s.from)
	switch {
	case err != nil:
		return 0, err
	case depth < 0 || depth+seal > maxCommits:
		return 0, void("range begins at %.7s, which is not among the %d first parents below the seal", s.from, maxCommits)
	}
	return 0, nil
}

// An ancestry knows how far below start its first parents are. It is read when it is asked for.
type ancestry struct {
	start gitsource.ID
	known map[gitsource.ID]int
}

// depth returns how many first parents lie between the start and id, or -1 if it is not among the next maxCommits.
func (a *ancestry) depth(ctx context.Context, repo *gitsource.Repository, id gitsource.ID) (int, error) {
	if id == a.start {
		return 0, nil
	}
	if a.known == nil && a.start != "" {
		a.known = map[gitsource.ID]int{}
		for next, depth := a.start, 0; depth <= maxCommits; depth++ {
			a.known[next] = depth
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
	if depth, found := a.known[id]; found {
		return depth, nil
	}
	return -1, nil
}

// unsealed returns the commits of path that nothing vouches for.
func (s seals) unsealed(path []gitsource.ID) []gitsource.ID {
	sealed := map[gitsource.ID]bool{}
	for _, ids := range s.by {
		for _, id := range ids {
			sealed[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(path), func(id gitsource.ID) bool { return sealed[id] })
}

// mark notes on a verified commit what its seal came to.
func (s seals) mark(a *admitted) {
	a.sealed, a.voidSeal = s.by[a.id], ""
	if reason := s.void[a.id]; reason != "" {
		a.voidSeal = "the seal does not count: " + reason
	}
}

// explain adds to the refusal of a commit why the nearest seal above it does not vouch for it.
func (s seals) explain(path []gitsource.ID, err error) error {
	var rejected *RejectedError
	if !errors.As(err, &rejected) {
		return err
	}
	for _, id := range path[slices.Index(path, rejected.Commit)+1:] {
		if reason := s.void[id]; reason != "" {
			named := *rejected
			named.Err = fmt.Errorf("the seal %.7s does not count: %s", id, reason)
			if rejected.Err != nil {
				named.Err = fmt.Errorf("%w; %w", rejected.Err, named.Err)
			}
			return &named
		}
	}
	return err
}

// vouched returns every commit that the seals in force vouch for, those of side branches included: what the end of a range
// reaches and its beginning does not. It reads limit commits at most on either side of a seal.
func (s seals) vouched(ctx context.Context, repo *gitsource.Repository, limit int) (map[gitsource.ID]bool, error) {
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
				return nil, at(id, refuse(ReasonTooManyCommits, "a seal vouches for more than %d", limit))
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

func isRefusal(err error) bool { return errors.As(err, new(*RejectedError)) }
