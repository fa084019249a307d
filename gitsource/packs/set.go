package packs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

var (
	// ErrNotFound means that no pack has the object, or that it has another type.
	ErrNotFound = errors.New("object not found")
	// ErrTooLarge means that something is larger than its limit.
	ErrTooLarge = errors.New("larger than the limit")
)

const (
	dir      = "objects/pack"
	maxPacks = 4096 // of a repository
)

// A Set is the packs of one repository, as they were when they were first needed. It is not safe for concurrent use.
type Set struct {
	files  *openFiles
	listed bool
	packs  []*pack // the one that had the last object is the first
	cache  cache
	zlib   inflater
}

// New returns the packs of the git directory files.
func New(files billy.Filesystem) *Set {
	return &Set{files: &openFiles{files: files}}
}

// Close closes the files that are open. The Set must not be used afterwards.
func (s *Set) Close() error { return s.files.close() }

// Has reports whether a pack has the object, of any type.
func (s *Set) Has(h plumbing.Hash) (bool, error) {
	_, _, err := s.find(h)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Read returns the content of an object of the type typ. It returns ErrNotFound if there is none, and ErrTooLarge if the object has more than limit bytes, or
// if unpacking it would exceed a limit of this package.
func (s *Set) Read(ctx context.Context, typ plumbing.ObjectType, h plumbing.Hash, limit int64) ([]byte, error) {
	p, offset, err := s.find(h)
	if err != nil {
		return nil, err
	}
	raw, err := s.unpack(ctx, p, offset, typ, limit)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("%s at %d: %w", p.name, offset, err)
	}
	return raw, err
}

// WithPrefix returns the hashes that begin with the hexadecimal digits prefix, at most limit of each pack.
func (s *Set) WithPrefix(prefix string, limit int) ([]plumbing.Hash, error) {
	if err := s.list(); err != nil {
		return nil, err
	}
	var found []plumbing.Hash
	for _, p := range s.packs {
		hashes, err := p.withPrefix(s.files, prefix, limit)
		if err != nil {
			return nil, fmt.Errorf("read index of %s: %w", p.name, err)
		}
		found = append(found, hashes...)
	}
	return found, nil
}

// find returns the pack that has an object, and the object's place there.
func (s *Set) find(h plumbing.Hash) (*pack, int64, error) {
	if err := s.list(); err != nil {
		return nil, 0, err
	}
	for i, p := range s.packs {
		offset, err := p.find(s.files, h)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read index of %s: %w", p.name, err)
		}
		copy(s.packs[1:], s.packs[:i])
		s.packs[0] = p
		return p, offset, nil
	}
	return nil, 0, ErrNotFound
}

// list finds the packs that have an index, once.
func (s *Set) list() error {
	if s.listed {
		return nil
	}
	entries, err := s.files.files.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list packs: %w", err)
	}
	sizes := map[string]int64{}
	for _, e := range entries {
		size := e.Size()
		if e.Mode()&fs.ModeSymlink != 0 {
			target, err := s.files.files.Stat(s.files.files.Join(dir, e.Name()))
			if err != nil {
				continue // the link leads nowhere
			}
			size = target.Size()
		}
		sizes[e.Name()] = size
	}
	for name, size := range sizes {
		base, index := strings.CutSuffix(name, ".idx")
		if packed, found := sizes[base+".pack"]; index && found && strings.HasPrefix(base, "pack-") {
			s.packs = append(s.packs, &pack{name: base, size: packed, indexSize: size})
		}
	}
	if len(s.packs) > maxPacks {
		return fmt.Errorf("%d packs: %w of %d: git repack -a -d", len(s.packs), ErrTooLarge, maxPacks)
	}
	slices.SortFunc(s.packs, func(a, b *pack) int { return strings.Compare(a.name, b.name) })
	s.listed = true
	return nil
}
