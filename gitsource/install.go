package gitsource

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"gitops-agent/gitsource/packs"
)

// install adds the pack's objects to the store. They are on disk when it returns. Few and small objects are stored as separate files: an agent fetches a few
// objects every few minutes for years. As packs, each lookup would have to search them one after another.
func (s *store) install(p *pack) error {
	if p.Few != nil {
		return s.installLoose(p)
	}
	return s.installPack(p)
}

// installPack moves the pack file into the store. It moves the index last, because a pack without an index is not read.
func (s *store) installPack(p *pack) error {
	base := filepath.Join(s.packDir(), "pack-"+p.Checksum.String())
	index, err := os.CreateTemp(s.packDir(), "tmp_idx_")
	if err != nil {
		return err
	}
	if err = errors.Join(p.WriteIndex(index), index.Sync(), index.Close(), p.file.Sync()); err != nil {
		return errors.Join(err, os.Remove(index.Name()))
	}
	if err := os.Rename(p.file.Name(), base+".pack"); err != nil {
		return errors.Join(err, os.Remove(index.Name()))
	}
	if err := os.Rename(index.Name(), base+".idx"); err != nil {
		return err
	}
	return syncPath(s.packDir())
}

// installLoose writes each object to a separate file.
func (s *store) installLoose(p *pack) error {
	objects := make(map[plumbing.Hash]packs.Object, len(p.Few))
	for _, o := range p.Few {
		objects[o.Hash] = o
	}
	get := func(h plumbing.Hash) (packs.Object, error) {
		if o, found := objects[h]; found {
			return o, nil
		}
		return packs.Object{}, ErrNotFound
	}
	for _, o := range p.Few {
		if err := s.copyReachable(o.Hash, get); err != nil {
			return err
		}
	}
	return nil
}

// copyReachable writes the object root and every object that it leads to, unless the store has them. It writes an object
// after all objects that the object names, so that the store is complete at any moment.
func (s *store) copyReachable(root plumbing.Hash, get func(plumbing.Hash) (packs.Object, error)) error {
	for stack := []plumbing.Hash{root}; len(stack) > 0; {
		h := stack[len(stack)-1]
		if s.has(h) {
			stack = stack[:len(stack)-1]
			continue
		}
		o, err := get(h)
		if err == nil {
			err = checkHash(o.Type, o.Content, h)
		}
		if err != nil {
			return fmt.Errorf("read object %s: %w", h, err)
		}
		missing := slices.DeleteFunc(links(o.Type, o.Content), func(l link) bool { return s.has(l.hash) })
		if len(missing) == 0 {
			if err := s.write(o); err != nil {
				return fmt.Errorf("write object %s: %w", h, err)
			}
		}
		for _, l := range missing {
			stack = append(stack, l.hash)
		}
	}
	return nil
}

// write stores one object as a file. The file is on disk when it returns.
func (s *store) write(o packs.Object) error {
	obj := new(plumbing.MemoryObject)
	obj.SetType(o.Type)
	if _, err := obj.Write(o.Content); err != nil {
		return err
	}
	h, err := s.storage.SetEncodedObject(obj)
	if err != nil {
		return err
	}
	file := filepath.Join(s.dir, "objects", h.String()[:2], h.String()[2:])
	return errors.Join(syncPath(file), syncPath(filepath.Dir(file)))
}

// syncPath makes a file's content, or a directory's entries, durable.
func syncPath(name string) error {
	f, err := os.Open(name) // #nosec G304 -- a file of the store
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
