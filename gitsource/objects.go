package gitsource

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"gitops-agent/gitsource/packs"
)

// objects reads the objects of a repository on disk. Its methods are not safe for concurrent use. What was added after the first read of a pack is not seen,
// except for loose objects.
type objects struct {
	files billy.Filesystem
	packs *packs.Set
}

func newObjects(st *filesystem.Storage) objects {
	return objects{st.Filesystem(), packs.New(st.Filesystem())}
}

func (o objects) close() error { return o.packs.Close() }

// has reports whether there is the object h, without reading it.
func (o objects) has(h plumbing.Hash) bool {
	if _, err := o.files.Stat(looseFile(o.files, h)); err == nil {
		return true
	}
	found, err := o.packs.Has(h)
	return found && err == nil
}

// read returns the content of the object h of a type. It returns ErrNotFound if there is none, and ErrTooLarge if it has more than limit bytes. It looks into
// the packs first, because opening a file costs more than a search in an index.
func (o objects) read(ctx context.Context, typ plumbing.ObjectType, h plumbing.Hash, limit int64) ([]byte, error) {
	raw, err := o.packs.Read(ctx, typ, h, limit)
	if errors.Is(err, ErrNotFound) {
		return readLoose(o.files, typ, h, limit)
	}
	if err != nil {
		return nil, err
	}
	return raw, checkHash(typ, raw, h)
}

// any returns the object h of any type, with at most limit bytes, and the errors of read.
func (o objects) any(ctx context.Context, h plumbing.Hash, limit int64) (packs.Object, error) {
	for _, typ := range []plumbing.ObjectType{plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject} {
		raw, err := o.read(ctx, typ, h, limit)
		if !errors.Is(err, ErrNotFound) {
			return packs.Object{Hash: h, Type: typ, Content: raw}, err
		}
	}
	return packs.Object{}, ErrNotFound
}

// withPrefix returns the hashes that begin with the hexadecimal digits prefix, at least two. An object that is stored twice is returned twice.
func (o objects) withPrefix(prefix string) ([]plumbing.Hash, error) {
	found, err := o.packs.WithPrefix(prefix, maxShort)
	if err != nil {
		return nil, err
	}
	loose, err := o.files.ReadDir(o.files.Join("objects", prefix[:2]))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, file := range loose {
		id := prefix[:2] + file.Name()
		if _, err := ParseID(id); err == nil && strings.HasPrefix(id, prefix) {
			found = append(found, plumbing.NewHash(id))
		}
	}
	return found, nil
}
