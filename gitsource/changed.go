package gitsource

import (
	"context"
	"fmt"
	"slices"
)

// Changed returns the paths whose object or mode differs between the trees a and b, sorted. It compares the whole tree and
// every kind of entry: a path may name a symbolic link or a submodule, and may contain any bytes but NUL. If a file became
// a directory, the list has the file and the files in the directory. An added or removed empty directory is in the list
// itself. The names ".", ".." and ".git" are a *TreeError, because a path with them could mean another path. The empty ID
// stands for the empty tree.
func (r *Repository) Changed(ctx context.Context, a, b ID) ([]string, error) {
	w := changeWalk{repo: r}
	if err := w.dirs(ctx, "", a, b, 0); err != nil {
		return nil, fmt.Errorf("compare trees %q and %q: %w", a, b, err)
	}
	slices.Sort(w.paths)
	return slices.Compact(w.paths), nil
}

// A changeWalk collects the changed paths and counts the entries that it has read.
type changeWalk struct {
	repo    *Repository
	paths   []string
	entries int
}

// dirs compares two directories at the same path. It does not read directories with equal ids, whose content is equal.
func (w *changeWalk) dirs(ctx context.Context, at string, a, b ID, depth int) error {
	if a == b {
		return nil
	}
	if depth > maxDepth {
		return &TreeError{at, fmt.Sprintf("more than %d nested directories", maxDepth)}
	}
	before, err := w.repo.tree(ctx, at, a)
	if err != nil {
		return err
	}
	after, err := w.repo.tree(ctx, at, b)
	if err != nil {
		return err
	}
	if w.entries += len(before) + len(after) + 2*dirCost; w.entries > 2*maxEntries {
		return fmt.Errorf("more than %d entries: %w", 2*maxEntries, ErrTooLarge)
	}
	if at != "" && len(before)+len(after) == 0 { // an empty directory, on one side only
		w.paths = append(w.paths, at)
	}
	return w.pairs(ctx, at, before, after, depth)
}

// pairs compares entries by name.
func (w *changeWalk) pairs(ctx context.Context, at string, before, after []entry, depth int) error {
	old := make(map[string]entry, len(before))
	for _, e := range before {
		old[e.name] = e
	}
	for _, e := range after {
		if err := w.pair(ctx, at, e.name, old[e.name], e, depth); err != nil {
			return err
		}
		delete(old, e.name)
	}
	for _, e := range before {
		if _, removed := old[e.name]; !removed {
			continue
		}
		if err := w.pair(ctx, at, e.name, e, entry{}, depth); err != nil {
			return err
		}
	}
	return nil
}

// pair compares the entries of one name before and after the change. The zero entry means that the entry is absent.
func (w *changeWalk) pair(ctx context.Context, dir, name string, a, b entry, depth int) error {
	if a == b {
		return nil
	}
	at := joinName(dir, name)
	if problem := nameProblem(name); problem != "" {
		return &TreeError{at, problem}
	}
	if isLeaf(a) || isLeaf(b) {
		w.paths = append(w.paths, at)
	}
	return w.dirs(ctx, at, subtree(a), subtree(b), depth+1)
}

func isLeaf(e entry) bool { return e.mode != "" && !e.isDir() }

// subtree returns the directory that e names, or the empty tree.
func subtree(e entry) ID {
	if e.isDir() {
		return e.id
	}
	return ""
}
