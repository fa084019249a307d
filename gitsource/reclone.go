package gitsource

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"

	"gitops-agent/gitsource/packs"
)

func (s *Source) newDir() string { return filepath.Clean(s.opts.Dir) + ".new" }
func (s *Source) oldDir() string { return filepath.Clean(s.opts.Dir) + ".old" }

// recoverDirs ensures that opts.Dir contains a store. If the directory is missing because of a crash between the two renames
// of activateNew, it moves Dir.old back. If there is no Dir.old, it makes an empty store.
func (s *Source) recoverDirs() error {
	if err := os.RemoveAll(s.newDir()); err != nil && !errors.Is(err, syscall.EROFS) { // a read-only store can still be read
		return err
	}
	hasDir, err := exists(s.opts.Dir)
	if err != nil {
		return err
	}
	hasOld, err := exists(s.oldDir())
	if err != nil {
		return err
	}
	switch {
	case hasDir:
		return s.checkIsStore()
	case hasOld:
		return os.Rename(s.oldDir(), s.opts.Dir)
	default:
		return s.replaceWithEmpty()
	}
}

// checkIsStore refuses a directory that contains other files than a store. A wrong path in the configuration must not
// replace such a directory.
func (s *Source) checkIsStore() error {
	entries, err := os.ReadDir(s.opts.Dir)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return createStore(s.opts.Dir, s.opts.Branch)
	}
	for _, e := range entries {
		if e.Name() == "objects" && e.IsDir() {
			return nil
		}
	}
	return errors.New("the directory is not empty and is not a bare repository: choose an empty or a new directory")
}

// replaceWithEmpty moves the directory at opts.Dir to Dir.old and puts an empty store in its place. The next complete clone
// removes Dir.old.
func (s *Source) replaceWithEmpty() error {
	st, err := s.prepareNew()
	if err != nil {
		return err
	}
	st.close()
	return s.activateNew()
}

// prepareNew makes an empty store beside the one in use.
func (s *Source) prepareNew() (*store, error) {
	if err := os.RemoveAll(s.newDir()); err != nil {
		return nil, err
	}
	if err := createStore(s.newDir(), s.opts.Branch); err != nil {
		return nil, err
	}
	return openStore(s.newDir())
}

// activateNew moves the directory at opts.Dir to Dir.old and the new store to opts.Dir.
func (s *Source) activateNew() error {
	hasDir, err := exists(s.opts.Dir)
	if err != nil {
		return err
	}
	if hasDir {
		if err := os.RemoveAll(s.oldDir()); err != nil {
			return err
		}
		if err := os.Rename(s.opts.Dir, s.oldDir()); err != nil {
			return err
		}
	}
	if err := os.Rename(s.newDir(), s.opts.Dir); err != nil {
		if hasDir {
			err = errors.Join(err, os.Rename(s.oldDir(), s.opts.Dir))
		}
		return err
	}
	return syncPath(filepath.Dir(filepath.Clean(s.opts.Dir)))
}

// reclone clones into a new directory and replaces the damaged store when the clone is complete. Until then the damaged
// store stays in use, because most of its objects can be read.
func (s *Source) reclone(ctx context.Context, t transfer) error {
	if err := s.refusedBefore(t, plumbing.ZeroHash); err != nil {
		return err
	}
	st, err := s.prepareNew()
	if err != nil {
		return storeError{err}
	}
	defer st.close()
	defer os.RemoveAll(s.newDir()) // already renamed after a success
	err = t.receive(ctx, st, nil)
	s.noteReceived(t, plumbing.ZeroHash, err)
	if err != nil {
		return err
	}
	if err := st.setRef(s.tracking(), t.tip); err != nil {
		return storeError{err}
	}
	s.storeMu.Lock()
	defer s.storeMu.Unlock()
	if err := s.copyAccepted(ctx, st); err != nil {
		s.opts.Logger.WarnContext(ctx, "accepted commit could not be copied from the damaged store", "error", err)
	}
	if err := s.repo.replace(s.activateNew); err != nil {
		return storeError{err}
	}
	if err := os.RemoveAll(s.oldDir()); err != nil {
		return storeError{err}
	}
	return nil
}

// maxCopied bounds an object that is copied from a damaged store, in bytes.
const maxCopied = 32 << 20

// copyAccepted copies the kept commit, and every object that it leads to, from the damaged store to the clone.
func (s *Source) copyAccepted(ctx context.Context, to *store) error {
	from, err := openStore(s.opts.Dir)
	if err != nil {
		return err
	}
	defer from.close()
	h, err := from.ref(acceptedRef)
	if err != nil || h.IsZero() {
		return err
	}
	get := func(h plumbing.Hash) (packs.Object, error) { return from.objects.any(ctx, h, maxCopied) }
	if err := to.copyReachable(h, get); err != nil {
		return fmt.Errorf("copy accepted commit %s: %w", h, err)
	}
	return to.setRef(acceptedRef, h)
}
