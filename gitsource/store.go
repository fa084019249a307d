package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

const (
	acceptedRef = "refs/gitops/accepted"
	maxHaves    = 256 // commits listed to a remote, so that the remote sends only new objects
)

// A store writes the repository of a Source on disk. It is complete: with an object it contains every object that the
// object leads to. Refs move after the objects are written.
type store struct {
	dir     string
	storage *filesystem.Storage
	objects objects
}

// createStore makes an empty bare repository at dir.
func createStore(dir, branch string) error {
	for _, sub := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n"
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600); err != nil {
		return err
	}
	return (&store{dir: dir}).setBranch(branch)
}

func openStore(dir string) (*store, error) {
	st, err := openStorage(dir)
	if err != nil {
		return nil, err
	}
	return &store{dir, st, newObjects(st)}, nil
}

// close closes what was open for reading. Written files are closed and synced before.
func (s *store) close() { _ = errors.Join(s.objects.close(), s.storage.Close()) }

func (s *store) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }
func (s *store) packDir() string         { return s.path("objects/pack") }

// setBranch sets HEAD to the branch and removes the ref of a branch that was fetched before. The old name may be a directory
// in the path of the new name.
func (s *store) setBranch(branch string) error {
	if err := errors.Join(os.RemoveAll(s.path("refs/heads")), os.Mkdir(s.path("refs/heads"), 0o700)); err != nil {
		return err
	}
	return os.WriteFile(s.path("HEAD"), []byte("ref: refs/heads/"+branch+"\n"), 0o600)
}

// removeTemporary removes the temporary files of interrupted fetches.
func (s *store) removeTemporary() error {
	left, err := filepath.Glob(filepath.Join(s.packDir(), "tmp_*"))
	for _, name := range left {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

func (s *store) has(h plumbing.Hash) bool { return s.objects.has(h) }

// ref returns the object that a ref points at, or the zero hash if there is no such ref.
func (s *store) ref(name string) (plumbing.Hash, error) {
	ref, err := s.storage.Reference(plumbing.ReferenceName(name))
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return plumbing.ZeroHash, nil
	}
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("read ref %s: %w", name, err)
	}
	return ref.Hash(), nil
}

// setRef moves a ref atomically: after a crash the ref points at the old or at the new object.
func (s *store) setRef(name string, h plumbing.Hash) error {
	file := s.path(name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(s.packDir(), "tmp_ref_")
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(h.String() + "\n")
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return syncPath(filepath.Dir(file))
}

// haves returns tip and its ancestors, nearest first, up to about maxHaves commits.
func (s *store) haves(ctx context.Context, tip plumbing.Hash) ([]plumbing.Hash, error) {
	if tip.IsZero() {
		return nil, nil
	}
	queue, seen := []plumbing.Hash{tip}, map[plumbing.Hash]bool{tip: true}
	for i := 0; i < len(queue) && len(queue) < maxHaves; i++ {
		raw, err := s.objects.read(ctx, plumbing.CommitObject, queue[i], maxCommit)
		if err != nil {
			return nil, fmt.Errorf("read commit %s: %w", queue[i], err)
		}
		for _, id := range headerIDs(raw, "parent") {
			if h := id.hash(); !seen[h] {
				seen[h] = true
				queue = append(queue, h)
			}
		}
	}
	return queue, nil
}

// isNoCommit reports whether the store has an object that is not a commit.
func (s *store) isNoCommit(ctx context.Context, h plumbing.Hash) bool {
	if !s.has(h) {
		return false // it was just received, as a commit
	}
	_, err := s.objects.read(ctx, plumbing.CommitObject, h, maxCommit)
	return err != nil
}

// exists reports whether there is a file or directory at name.
func exists(name string) (bool, error) {
	_, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
