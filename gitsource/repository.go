package gitsource

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"gitops-agent/gitsource/packs"
)

var (
	// ErrNotFound means that the repository contains no object of that id and type.
	ErrNotFound = packs.ErrNotFound
	// ErrTooLarge means that an object, a tree or a fetch is larger than its limit.
	ErrTooLarge = packs.ErrTooLarge
)

const (
	maxCommit = 1 << 20  // bytes of a commit or annotated tag; people do not write larger ones
	maxTree   = 16 << 20 // bytes of one tree object: about 400,000 entries
)

// A Commit is a commit object exactly as stored: untrusted bytes whose SHA-1 is ID.
type Commit struct {
	ID  ID
	Raw []byte // the object's body without git's "commit <size>" header
}

// A Tag is an annotated tag object exactly as stored: untrusted bytes whose SHA-1 is ID.
type Tag struct {
	ID  ID
	Raw []byte // the object's body without git's "tag <size>" header
}

// A Repository reads git objects. It never writes. Its methods are safe for concurrent use. It keeps some packs open while
// it is in use.
type Repository struct {
	dir string

	mu      sync.Mutex // neither storage nor objects is safe for concurrent use
	storage *filesystem.Storage
	objects objects
	damage  error // the first error that shows a damaged store; a Source then clones again
}

// OpenRepository opens the repository at dir for reading: a bare repository, the root of a work tree, or a linked work
// tree. It reads neither the user's nor the system's git configuration. A repository of another format is a *FormatError.
func OpenRepository(dir string) (*Repository, error) {
	st, err := openStorage(dir)
	if err != nil {
		return nil, fmt.Errorf("open repository %s: %w", dir, err)
	}
	return &Repository{dir: dir, storage: st, objects: newObjects(st)}, nil
}

// Commit returns the commit object id. It returns ErrNotFound if there is no such commit, also if id names an object of
// another type, and ErrTooLarge if the object is larger than 1 MiB.
func (r *Repository) Commit(ctx context.Context, id ID) (Commit, error) {
	raw, err := r.read(ctx, plumbing.CommitObject, id, maxCommit)
	if err != nil {
		return Commit{}, err
	}
	return Commit{ID: id, Raw: raw}, nil
}

// Tag returns the annotated tag object id, with the same errors as Commit. A lightweight tag is a ref, not an object.
func (r *Repository) Tag(ctx context.Context, id ID) (Tag, error) {
	raw, err := r.read(ctx, plumbing.TagObject, id, maxCommit)
	if err != nil {
		return Tag{}, err
	}
	return Tag{ID: id, Raw: raw}, nil
}

// read returns the body of an object of at most limit bytes, checked against its id.
func (r *Repository) read(ctx context.Context, typ plumbing.ObjectType, id ID, limit int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := ParseID(string(id)); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	raw, err := r.objects.read(ctx, typ, id.hash(), limit)
	if err != nil {
		err = fmt.Errorf("read %s %s: %w", typ, id, err)
		if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrTooLarge) {
			r.setDamage(err)
		}
		return nil, err
	}
	return raw, nil
}

// readLinked reads an object that another object names. If it is missing, the store is damaged.
func (r *Repository) readLinked(ctx context.Context, typ plumbing.ObjectType, id ID, limit int64) ([]byte, error) {
	raw, err := r.read(ctx, typ, id, limit)
	if errors.Is(err, ErrNotFound) {
		r.markDamaged(err)
	}
	return raw, err
}

// markDamaged records that the store must be cloned again.
func (r *Repository) markDamaged(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.setDamage(err)
}

func (r *Repository) setDamage(err error) {
	if r.damage == nil {
		r.damage = err
	}
}

// damageFound returns why the store must be cloned again, or nil.
func (r *Repository) damageFound() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.damage
}

// has reports whether the repository contains the object h, without reading it.
func (r *Repository) has(h plumbing.Hash) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects.has(h)
}

// reopen makes objects and packs visible that were added after the repository was opened.
func (r *Repository) reopen() error {
	st, err := openStorage(r.dir)
	if err != nil {
		return storeError{err}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.setStorage(st)
	return nil
}

// setStorage replaces the storage by st and closes the old one.
func (r *Repository) setStorage(st *filesystem.Storage) {
	_ = errors.Join(r.objects.close(), r.storage.Close()) // they were open only for reading
	r.storage, r.objects = st, newObjects(st)
}

// replace calls swap, which puts another repository at the same directory, and opens it. No read runs at that time.
func (r *Repository) replace(swap func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := swap(); err != nil {
		return err
	}
	st, err := openStorage(r.dir)
	if err != nil {
		return err
	}
	r.setStorage(st)
	r.damage = nil
	return nil
}

// checkHash returns an error if an object has another id than the one that it was read by.
func checkHash(typ plumbing.ObjectType, raw []byte, want plumbing.Hash) error {
	if got := plumbing.ComputeHash(typ, raw); got != want {
		return fmt.Errorf("content has SHA-1 %s", got)
	}
	return nil
}

// recoverTo turns a panic into *err.
func recoverTo(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic while unpacking: %v", p)
	}
}
