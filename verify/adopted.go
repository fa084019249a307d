package verify

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"gitops-agent/gitsource"
	"gitops-agent/verify/scope"
)

// elsewhere is a change that its author made for other targets than this one, and that no signer has made for this one yet.
type elsewhere struct {
	by    admitted
	paths []string // that it changed
}

// checkAdopted refuses a path that would put a change for other targets into force here. A commit whose author named other targets only is passed over while it is the tip, and its files are
// in the tree of every later commit. They come into force only if a later commit that names this target is by a signer who may make the same change. A path that is the same before and
// after all commits does not matter, and neither does a path that the target does not read. Folders that its Cluster imports from elsewhere are not known here. The tree before the first commit is first.
func (p *Policy) checkAdopted(ctx context.Context, repo *gitsource.Repository, path []admitted, first gitsource.ID) error {
	tip := path[len(path)-1]
	if !p.namesTarget(tip.trailers) {
		return nil // checkTip refuses it
	}
	var open []elsewhere
	for before := first; len(path) > 0; path = path[1:] {
		switch a := path[0]; {
		case p.isForOtherTargets(a.trailers) && a.tree != before:
			if slices.ContainsFunc(path, func(later admitted) bool { return p.adopts(later, nil) && len(later.signer.Paths) == 0 }) {
				break
			}
			changed, err := repo.Changed(ctx, before, a.tree)
			if err != nil {
				return forCommit(a.id, treeProblem(a.id, err))
			}
			changed = slices.DeleteFunc(changed, func(path string) bool { return !scope.HasPath(p.options.Paths, path) })
			open = append(open, elsewhere{a, changed})
		case a.id != tip.id:
			open = slices.DeleteFunc(open, func(e elsewhere) bool { return p.adopts(a, e.paths) })
		}
		before = path[0].tree
	}
	return p.checkTipAdopts(ctx, repo, open, first, tip)
}

// adopts reports whether a commit names this target, and its signer may change some paths.
func (p *Policy) adopts(a admitted, paths []string) bool {
	return p.namesTarget(a.trailers) && a.signer.may(RoleChange) && a.signer.foreignPath(paths) == ""
}

// checkTipAdopts refuses the tip for the first change that is in its tree and not in the first tree, and that its signer may not make.
func (p *Policy) checkTipAdopts(ctx context.Context, repo *gitsource.Repository, open []elsewhere, first gitsource.ID, tip admitted) error {
	if len(open) == 0 {
		return nil
	}
	changed, err := repo.Changed(ctx, first, tip.tree)
	if err != nil {
		return forCommit(tip.id, treeProblem(tip.id, err))
	}
	differs := make(map[string]bool, len(changed))
	for _, path := range changed {
		differs[path] = true
	}
	for _, e := range open {
		paths := slices.DeleteFunc(e.paths, func(path string) bool { return !differs[path] })
		if len(paths) == 0 || p.adopts(tip, paths) {
			continue
		}
		return forCommit(tip.id, refuse(ReasonOutOfScope, "signer %q may not change %q, which commit %.12s by signer %q changed for %s only: "+
			"a signer who may change it has to sign a commit that names %s", tip.signer.Name, cmp.Or(tip.signer.foreignPath(paths), paths[0]), string(e.by.id), e.by.signer.Name,
			strings.Join(values(e.by.trailers, trailerTarget), ", "), p.options.Target))
	}
	return nil
}

// isForOtherTargets reports whether a commit names targets, and this one is not among them. Another branch of this cluster is another target.
func (p *Policy) isForOtherTargets(trailers []trailer) bool {
	return p.options.Binding == BindingTrailer && len(values(trailers, trailerTarget)) > 0 && !p.namesTarget(trailers)
}

// namesTarget reports whether a commit names this target, and every commit does if the policy does not bind by trailers.
func (p *Policy) namesTarget(trailers []trailer) bool {
	return p.options.Binding != BindingTrailer || slices.Contains(values(trailers, trailerTarget), p.options.Target)
}

// foreignPath returns the first of some paths that is not inside the signer's paths, or "".
func (m *matcher) foreignPath(paths []string) string {
	for _, path := range paths {
		if !m.mayChangePath(path) {
			return path
		}
	}
	return ""
}
