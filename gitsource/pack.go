package gitsource

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// A pack is a received pack in a temporary file of the store. It is parsed and not yet part of the store.
type pack struct {
	file     *os.File
	index    *idxfile.MemoryIndex
	checksum plumbing.Hash
	objects  []packed
	read     *packfile.Packfile
}

// A packed is one object of a pack.
type packed struct {
	hash plumbing.Hash
	pos  int64
	typ  plumbing.ObjectType
}

// receivePack writes stream to a temporary file in dir and parses it. It unpacks and hashes every object and compares the
// pack's checksum. A pack with more than limit objects is refused. The caller must discard the pack.
func receivePack(ctx context.Context, dir string, stream io.Reader, limit uint32) (_ *pack, err error) {
	file, err := os.CreateTemp(dir, "tmp_pack_")
	if err != nil {
		return nil, storeError{err}
	}
	p := &pack{file: file}
	defer func() {
		if err != nil {
			p.discard()
		}
	}()
	if _, err := io.Copy(storeWriter{file}, stream); err != nil {
		return nil, fmt.Errorf("receive pack: %w", err)
	}
	if err := p.checkLimits(ctx, limit); err != nil {
		return nil, fmt.Errorf("check pack limits: %w", err)
	}
	if err := p.parse(ctx); err != nil {
		return nil, fmt.Errorf("parse pack: %w", err)
	}
	return p, p.open()
}

// discard removes the temporary file. Objects that were added to the store stay there.
func (p *pack) discard() {
	if p.read != nil {
		_ = p.read.Close()
	}
	_ = p.file.Close()
	_ = os.Remove(p.file.Name()) // already renamed if the store has the pack as a file
}

// fromStart returns the file, set to its start.
func (p *pack) fromStart(ctx context.Context) (ctxFile, error) {
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return ctxFile{}, storeError{err}
	}
	return ctxFile{p.file, ctx}, nil
}

// parse builds the index and the list of objects.
func (p *pack) parse(ctx context.Context) error {
	file, err := p.fromStart(ctx)
	if err != nil {
		return err
	}
	indexer := new(idxfile.Writer)
	parser, err := packfile.NewParser(packfile.NewScanner(file), indexer, &lister{p: p})
	if err != nil {
		return err
	}
	if p.checksum, err = parser.Parse(); err != nil {
		return err
	}
	p.index, err = indexer.Index()
	return err
}

// A lister is a packfile.Observer that adds each resolved object to the pack's list.
type lister struct {
	p   *pack
	typ plumbing.ObjectType
}

func (l *lister) OnHeader(uint32) error { return nil }

func (l *lister) OnInflatedObjectHeader(typ plumbing.ObjectType, _, _ int64) error {
	l.typ = typ
	return nil
}

func (l *lister) OnInflatedObjectContent(h plumbing.Hash, pos int64, _ uint32, _ []byte) error {
	l.p.objects = append(l.p.objects, packed{h, pos, l.typ})
	return nil
}

func (l *lister) OnFooter(plumbing.Hash) error { return nil }

// open makes the objects readable.
func (p *pack) open() error {
	file, err := osfs.Default.Open(p.file.Name())
	if err != nil {
		return storeError{err}
	}
	p.read = packfile.NewPackfileWithCache(p.index, nil, file, cache.NewObjectLRU(32*cache.MiByte), 0)
	return nil
}

func (p *pack) has(h plumbing.Hash) bool {
	found, err := p.index.Contains(h)
	return found && err == nil
}

// object unpacks one object.
func (p *pack) object(o packed) (plumbing.EncodedObject, error) {
	obj, err := p.read.GetByOffset(o.pos)
	if err != nil {
		return nil, fmt.Errorf("unpack %s %s: %w", o.typ, o.hash, err)
	}
	return obj, nil
}

// A storeError is a failure of the store on this machine, not of a remote.
type storeError struct{ err error }

func (e storeError) Error() string { return e.err.Error() }
func (e storeError) Unwrap() error { return e.err }

// A storeWriter returns write errors as storeError.
type storeWriter struct{ w io.Writer }

func (w storeWriter) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	if err != nil {
		return n, storeError{err}
	}
	return n, nil
}
