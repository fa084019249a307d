package gitsource

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
)

func (s *Source) newDir() string { return filepath.Clean(s.opts.Dir) + ".new" }
func (s *Source) oldDir() string { return filepath.Clean(s.opts.Dir) + ".old" }

// recoverDirs makes sure that there is a store at opts.Dir: the one that is there, or the old one if a crash came between
// moving it away and moving its successor in, or an empty one.
func (s *Source) recoverDirs() error {
	if err := os.RemoveAll(s.newDir()); err != nil {
		return err
	}
	there, err := exists(s.opts.Dir)
	if err != nil {
		return err
	}
	aside, err := exists(s.oldDir())
	if err != nil {
		return err
	}
	switch {
	case there:
		return s.checkOurs()
	case aside:
		return os.Rename(s.oldDir(), s.opts.Dir)
	default:
		return s.setAside()
	}
}

// checkOurs refuses a directory that holds something else than a store, as a slip in the configuration would name: it
// might be set aside and replaced.
func (s *Source) checkOurs() error {
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
	return errors.New("the directory is not empty and holds no bare repository")
}

// setAside puts an empty store at opts.Dir. What was there is at Dir.old until a clone is whole.
func (s *Source) setAside() error {
	st, err := s.prepareNew()
	if err != nil {
		return err
	}
	st.close()
	return s.placeNew()
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

// placeNew puts the new store at opts.Dir, and what was there at Dir.old.
func (s *Source) placeNew() error {
	there, err := exists(s.opts.Dir)
	if err != nil {
		return err
	}
	if there {
		if err := os.RemoveAll(s.oldDir()); err != nil {
			return err
		}
		if err := os.Rename(s.opts.Dir, s.oldDir()); err != nil {
			return err
		}
	}
	if err := os.Rename(s.newDir(), s.opts.Dir); err != nil {
		if there {
			err = errors.Join(err, os.Rename(s.oldDir(), s.opts.Dir))
		}
		return err
	}
	return syncPath(filepath.Dir(filepath.Clean(s.opts.Dir)))
}

// renew clones into a directory of its own and, when the clone is whole, puts it in the damaged store's place. Until
// then the damaged one stays in use: most of it can be read.
func (s *Source) renew(ctx context.Context, t transfer) error {
	st, err := s.prepareNew()
	if err != nil {
		return storeError{err}
	}
	defer st.close()
	defer os.RemoveAll(s.newDir()) // gone already if all went well
	if err := t.into(ctx, st, nil); err != nil {
		return err
	}
	if err := st.setRef(s.tracking(), t.tip); err != nil {
		return storeError{err}
	}
	s.placing.Lock()
	defer s.placing.Unlock()
	if err := s.carryAccepted(st); err != nil {
		s.opts.Logger.WarnContext(ctx, "accepted commit is lost with the damaged store", "error", err)
	}
	if err := s.repo.replace(s.placeNew); err != nil {
		return storeError{err}
	}
	if err := os.RemoveAll(s.oldDir()); err != nil {
		return storeError{err}
	}
	return nil
}

// carryAccepted copies the kept commit, and all it leads to, from the damaged store, unless the clone holds it.
func (s *Source) carryAccepted(to *store) error {
	from, err := openStore(s.opts.Dir)
	if err != nil {
		return err
	}
	defer from.close()
	h, err := from.ref(acceptedRef)
	if err != nil || h.IsZero() {
		return err
	}
	get := func(h plumbing.Hash) (plumbing.EncodedObject, error) {
		return from.storage.EncodedObject(plumbing.AnyObject, h)
	}
	if err := to.copyClosed(h, get); err != nil {
		return fmt.Errorf("carry accepted commit %s over: %w", h, err)
	}
	return to.setRef(acceptedRef, h)
}
