package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gitops-agent/gitsource"
)

// A Promotion is what the trailer Gitops-Promoted names: the revision of another cluster, usually staging, whose tree the commit gives to this cluster.
type Promotion struct {
	Cluster, Branch string
	Commit          gitsource.ID
}

// String returns the promotion in the form of the trailer.
func (p Promotion) String() string {
	return fmt.Sprintf("%s/%s@sha1:%s", p.Cluster, p.Branch, p.Commit)
}

// ParsePromotion reads the value of a trailer Gitops-Promoted: <cluster>/<branch>@<full commit id>, with or without sha1: before the id, as status prints it.
func ParsePromotion(value string) (Promotion, error) {
	at := strings.LastIndexByte(value, '@')
	cluster, branch, _ := strings.Cut(value[:max(at, 0)], "/")
	id, err := gitsource.ParseID(strings.TrimPrefix(value[at+1:], "sha1:"))
	if cluster == "" || branch == "" || err != nil {
		return Promotion{}, fmt.Errorf("trailer %s: got %.200q, want <cluster>/<branch>@<commit> with all 40 digits of the commit", trailerPromoted, value)
	}
	return Promotion{cluster, branch, id}, nil
}

// ErrNotPromoted means that no trailer promotes the tree of a revision.
var ErrNotPromoted = errors.New("the message of no new commit with this tree ends with the trailer " + trailerPromoted)

// PromotionOf returns what the trailers Gitops-Promoted of one commit promote, and ErrNotPromoted without one.
func PromotionOf(named []string) (Promotion, error) {
	switch len(named) {
	case 0:
		return Promotion{}, ErrNotPromoted
	case 1:
		return ParsePromotion(named[0])
	}
	return Promotion{}, fmt.Errorf("trailer %s occurs %d times, want one", trailerPromoted, len(named))
}

// Promotion returns what promotes the tree of the revision: the trailer of the newest verified commit with one, from the tip down as long as commits have
// the tree of the tip. So commits above it that only give orders need no trailer. Trailers of sealed commits and of commits for other clusters do not count.
func (r Revision) Promotion() (Promotion, error) { return PromotionOf(r.promoted) }

// IsUnchanged reports whether the revision has the tree of what was accepted last. A tip that allow-rewrite allowed has not, whatever its tree is.
func (r Revision) IsUnchanged() bool { return r.unchanged }

// promotedBy returns the trailers for Revision.Promotion.
func (p *Policy) promotedBy(path []SignedCommit, tip admitted) []string {
	if len(path) == 0 {
		return p.promotedIn(tip)
	}
	for i := len(path) - 1; i >= 0 && path[i].Tree == tip.tree; i-- {
		if len(path[i].promoted) > 0 {
			return path[i].promoted
		}
	}
	return nil
}

// promotedIn returns the trailers of a commit, none if it is for other clusters.
func (p *Policy) promotedIn(a admitted) []string {
	if p.isForOthers(a.trailers) {
		return nil
	}
	return values(a.trailers, trailerPromoted)
}

// isUnchanged is Revision.IsUnchanged for a tip above a base.
func isUnchanged(base Base, path []SignedCommit, tip admitted) bool {
	switch {
	case base.Commit == "":
		return false
	case base.Commit == tip.id:
		return true
	case base.Rewrite == tip.id:
		return false
	}
	return len(path) == 0 || path[0].Before == tip.tree
}

// CheckPromoted returns an error unless the tree of the revision is the tree of a commit in its history: the tip itself, or an ancestor by any parent among
// the nearest 50,000. The error is a *RejectedError if the history is the reason, or matches ErrOtherTree or ErrNoAncestor; any other error means that the
// repository could not be read.
func (r Revision) CheckPromoted(ctx context.Context, repo *gitsource.Repository, promoted gitsource.ID) error {
	near := []gitsource.ID{r.commit}
	seen := map[gitsource.ID]bool{r.commit: true}
	for read := 0; read < len(near) && read < maxWalk; read++ {
		o, err := readCommit(ctx, repo, near[read])
		switch {
		case err != nil:
			return forCommit(near[read], err)
		case near[read] == promoted && o.tree != r.tree:
			return fmt.Errorf("%w %s, got tree %s and %s", ErrOtherTree, promoted, r.tree, o.tree)
		case near[read] == promoted:
			return nil
		}
		for _, parent := range o.parents {
			if !seen[parent] {
				seen[parent] = true
				near = append(near, parent)
			}
		}
	}
	return fmt.Errorf("%w: %s", ErrNoAncestor, promoted)
}

var (
	// ErrOtherTree means that a revision has another tree than the one that it promotes.
	ErrOtherTree = errors.New("the files are not those of the promoted revision")
	// ErrNoAncestor means that a revision does not descend from the one that it promotes.
	ErrNoAncestor = errors.New("the promoted revision is not in the history of the commit")
)
