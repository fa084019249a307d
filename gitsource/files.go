package gitsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// ErrNoPath means that a wanted path is not in the tree.
var ErrNoPath = errors.New("no such path in the tree")

// TreeOptions select the files of a tree to read, and limit them. The zero value reads all files within the default limits.
type TreeOptions struct {
	Paths    []string // files and directories to read, relative to the root; none, "" or "." means the whole tree
	Suffixes []string // read only files whose names end in one of these; none means all files
	Skipped  []string // do not read files whose names end in one of these
	MaxFile  int64    // largest file, in bytes; default 1 MiB
	MaxTotal int64    // largest sum of all files, in bytes; default 64 MiB
	MaxFiles int      // largest number of files; default 10,000

	// Visit is given each file instead of keeping it, so that memory is needed for one file alone. What Files refuses and a file above MaxFile are passed over
	// then: a visit looks for something in a tree that nothing is made from.
	Visit func(File)

	// Other is given each file whose name ends in one of OtherSuffixes and is not read. A file above MaxFile is passed over, and so is what is above MaxOther.
	Other         func(File)
	OtherSuffixes []string
	MaxOther      int64 // largest sum of these files, in bytes; default 4 MiB
}

const (
	maxEntries = 100_000 // tree entries read in one call; a few small objects can describe an endless tree
	dirCost    = 8       // entries that each directory adds to the count, because it is one more object to read
	maxDepth   = 64      // nested directories
)

func (o TreeOptions) withDefaults() TreeOptions {
	o.MaxFile = cmp.Or(o.MaxFile, 1<<20)
	o.MaxTotal = cmp.Or(o.MaxTotal, 64<<20)
	o.MaxFiles = cmp.Or(o.MaxFiles, 10_000)
	o.MaxOther = cmp.Or(o.MaxOther, 4<<20)
	return o
}

// A File is a regular file of a tree. Path is relative to the root and has slashes.
type File struct {
	Path string
	Data []byte
}

// Files returns the regular files under opts.Paths in the tree, sorted by path. It returns a *TreeError for symbolic links,
// submodules and invalid names under these paths, also if their suffix is not wanted. It does not read entries outside these
// paths. It returns ErrNoPath if a wanted path is missing, ErrTooLarge above a limit, and ErrNotFound if the repository is
// incomplete. The empty ID stands for the empty tree.
func (r *Repository) Files(ctx context.Context, tree ID, opts TreeOptions) ([]File, error) {
	w := fileWalk{repo: r, opts: opts.withDefaults()}
	paths, err := cleanPaths(w.opts.Paths)
	if err != nil {
		return nil, fmt.Errorf("read tree %s: %w", tree, err)
	}
	for _, p := range paths {
		if err := w.start(ctx, tree, p); err != nil {
			return nil, fmt.Errorf("read tree %s: %w", tree, err)
		}
	}
	slices.SortFunc(w.files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return w.files, nil
}

// File returns one regular file of the tree, with at most limit bytes. It returns ErrNoPath if there is none, a *TreeError if the path leads through a
// symbolic link or a submodule or names a directory, and ErrTooLarge above the limit.
func (r *Repository) File(ctx context.Context, tree ID, at string, limit int64) ([]byte, error) {
	data, err := r.file(ctx, tree, at, limit)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", at, err)
	}
	return data, nil
}

func (r *Repository) file(ctx context.Context, id ID, at string, limit int64) ([]byte, error) {
	dir := ""
	for rest := at; ; {
		name, below, nested := strings.Cut(rest, "/")
		entries, err := r.tree(ctx, dir, id)
		if err != nil {
			return nil, err
		}
		n := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
		if n < 0 {
			return nil, ErrNoPath
		}
		e := entries[n]
		dir, rest, id = joinName(dir, name), below, e.id
		problem := fileProblem(e)
		if problem == "" && e.isDir() && !nested {
			problem = "it is a directory"
		}
		switch {
		case problem != "":
			return nil, &TreeError{dir, problem}
		case !nested:
			return r.readLinked(ctx, plumbing.BlobObject, id, limit)
		case !e.isDir():
			return nil, ErrNoPath
		}
	}
}

// cleanPaths returns paths in their canonical spelling, without paths inside others. [""] is the whole tree.
func cleanPaths(paths []string) ([]string, error) {
	if len(paths) == 0 {
		return []string{""}, nil
	}
	var clean []string
	for _, p := range paths {
		c := path.Clean(p)
		if path.IsAbs(p) || c == ".." || strings.HasPrefix(c, "../") {
			return nil, fmt.Errorf("path %q is not inside the tree", p)
		}
		if c == "." {
			return []string{""}, nil
		}
		clean = append(clean, c)
	}
	slices.Sort(clean)
	var outer []string
	for _, p := range clean {
		covered := func(o string) bool { return p == o || strings.HasPrefix(p, o+"/") }
		if !slices.ContainsFunc(outer, covered) {
			outer = append(outer, p)
		}
	}
	return outer, nil
}

// A fileWalk collects files and counts files, bytes and entries for the limits.
type fileWalk struct {
	repo    *Repository
	opts    TreeOptions
	files   []File
	total   int64
	others  int64 // bytes that Other was given
	entries int
}

// start walks from the root to p and reads the file or the directory there.
func (w *fileWalk) start(ctx context.Context, root ID, p string) error {
	if p == "" {
		return w.dir(ctx, "", root, 0)
	}
	at, id := "", root
	names := strings.Split(p, "/")
	for i, name := range names {
		entries, err := w.readDir(ctx, at, id)
		if err != nil {
			return err
		}
		n := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
		if n < 0 {
			return fmt.Errorf("path %q: %w", p, ErrNoPath)
		}
		e := entries[n]
		if i == len(names)-1 {
			return w.entry(ctx, at, e, i)
		}
		at = path.Join(at, name)
		if problem := fileProblem(e); problem != "" {
			return &TreeError{at, problem}
		}
		if !e.isDir() {
			return fmt.Errorf("path %q: %w: %s is a file", p, ErrNoPath, at)
		}
		id = e.id
	}
	return nil
}

func (w *fileWalk) dir(ctx context.Context, at string, id ID, depth int) error {
	if depth > maxDepth {
		return &TreeError{at, fmt.Sprintf("more than %d nested directories", maxDepth)}
	}
	entries, err := w.readDir(ctx, at, id)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.entry(ctx, at, e, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *fileWalk) readDir(ctx context.Context, at string, id ID) ([]entry, error) {
	entries, err := w.repo.tree(ctx, at, id)
	if err != nil {
		return nil, err
	}
	if w.entries += len(entries) + dirCost; w.entries > maxEntries {
		return nil, fmt.Errorf("more than %d entries: %w", maxEntries, ErrTooLarge)
	}
	return entries, nil
}

func (w *fileWalk) entry(ctx context.Context, dir string, e entry, depth int) error {
	at := joinName(dir, e.name)
	if problem := fileProblem(e); problem != "" {
		if w.opts.Visit != nil {
			return nil
		}
		return &TreeError{at, problem}
	}
	if e.isDir() {
		return w.dir(ctx, at, e.id, depth+1)
	}
	return w.file(ctx, at, e.id)
}

func (w *fileWalk) file(ctx context.Context, at string, id ID) error {
	ends := func(suffix string) bool { return strings.HasSuffix(at, suffix) }
	if len(w.opts.Suffixes) > 0 && !slices.ContainsFunc(w.opts.Suffixes, ends) || slices.ContainsFunc(w.opts.Skipped, ends) {
		if w.opts.Other != nil && slices.ContainsFunc(w.opts.OtherSuffixes, ends) {
			return w.other(ctx, at, id)
		}
		return nil
	}
	if len(w.files) == w.opts.MaxFiles {
		return fmt.Errorf("more than %d files: %w", w.opts.MaxFiles, ErrTooLarge)
	}
	data, err := w.repo.readLinked(ctx, plumbing.BlobObject, id, w.opts.MaxFile)
	if w.opts.Visit != nil && errors.Is(err, ErrTooLarge) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("path %q: %w", at, err)
	}
	if w.total += int64(len(data)); w.total > w.opts.MaxTotal {
		return fmt.Errorf("path %q: files together: %w of %d bytes", at, ErrTooLarge, w.opts.MaxTotal)
	}
	if w.opts.Visit != nil {
		w.opts.Visit(File{at, data})
		return nil
	}
	w.files = append(w.files, File{at, data})
	return nil
}

func (w *fileWalk) other(ctx context.Context, at string, id ID) error {
	limit := min(w.opts.MaxFile, w.opts.MaxOther-w.others)
	if limit <= 0 {
		return nil
	}
	data, err := w.repo.readLinked(ctx, plumbing.BlobObject, id, limit)
	switch {
	case errors.Is(err, ErrTooLarge):
		return nil
	case err != nil:
		return fmt.Errorf("path %q: %w", at, err)
	}
	w.others += int64(len(data))
	w.opts.Other(File{at, data})
	return nil
}

// tree returns the entries of the tree object id, which is at the path at. The empty ID stands for the empty tree.
func (r *Repository) tree(ctx context.Context, at string, id ID) ([]entry, error) {
	if id == "" {
		return nil, nil
	}
	raw, err := r.readLinked(ctx, plumbing.TreeObject, id, maxTree)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(raw)
	if errors.Is(err, ErrTooLarge) {
		return nil, err
	}
	if err != nil {
		return nil, &TreeError{at, "malformed tree: " + err.Error()}
	}
	return entries, nil
}

// joinName appends a name to a path without cleaning it. Unlike path.Join, it keeps names such as "..".
func joinName(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
