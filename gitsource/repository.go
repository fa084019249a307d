package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

var (
	// ErrNotFound says that the repository holds no object of that id and type.
	ErrNotFound = errors.New("object not found")
	// ErrTooLarge says that an object, a tree or a fetch is larger than its limit.
	ErrTooLarge = errors.New("larger than the limit")
)

const (
	maxCommit = 1 << 20  // a commit or annotated tag, bytes; more than this is no commit a person reads
	maxTree   = 16 << 20 // one tree object, bytes: some 400,000 entries
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

// A Repository reads git objects. It never writes. Its methods may be called by several goroutines at once. It keeps
// some packs open for as long as it is referred to.
type Repository struct {
	dir string

	mu      sync.Mutex // go-git's storage loads indexes lazily and is not safe for concurrent use
	storage *filesystem.Storage
	damage  error // the first read that failed for no fault of the caller; a Source clones anew then
}

// OpenRepository opens the repository at dir for reading: a bare repository, the root of a work tree, or a linked work
// tree. It reads neither the user's nor the system's git configuration.
func OpenRepository(dir string) (*Repository, error) {
	st, err := openStorage(dir)
	if err != nil {
		return nil, fmt.Errorf("open repository %s: %w", dir, err)
	}
	return &Repository{dir: dir, storage: st}, nil
}

// Commit returns the commit object named id. It fails with ErrNotFound if there is none (also when id names an object
// of another type) and with ErrTooLarge above 1 MiB.
func (r *Repository) Commit(ctx context.Context, id ID) (Commit, error) {
	raw, err := r.read(ctx, plumbing.CommitObject, id, maxCommit)
	if err != nil {
		return Commit{}, err
	}
	return Commit{ID: id, Raw: raw}, nil
}

// Tag returns the annotated tag object named id, under the rules of Commit. A lightweight tag is a ref and no object.
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
	raw, err := readObject(r.storage, typ, id.hash(), limit)
	if err != nil {
		err = fmt.Errorf("read %s %s: %w", typ, id, err)
		if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrTooLarge) {
			r.noteDamage(err)
		}
		return nil, err
	}
	return raw, nil
}

// readLinked reads an object that another object refers to: that it is missing means damage, not a wrong question.
func (r *Repository) readLinked(ctx context.Context, typ plumbing.ObjectType, id ID, limit int64) ([]byte, error) {
	raw, err := r.read(ctx, typ, id, limit)
	if errors.Is(err, ErrNotFound) {
		r.suspect(err)
	}
	return raw, err
}

// suspect notes that the store needs to be cloned anew.
func (r *Repository) suspect(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noteDamage(err)
}

func (r *Repository) noteDamage(err error) {
	if r.damage == nil {
		r.damage = err
	}
}

// damaged returns why the store needs to be cloned anew, or nil.
func (r *Repository) damaged() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.damage
}

// has tells whether the object h is there, without reading it.
func (r *Repository) has(h plumbing.Hash) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.storage.HasEncodedObject(h) == nil
}

// reopen makes objects and packs visible that came since the repository was opened.
func (r *Repository) reopen() error {
	st, err := openStorage(r.dir)
	if err != nil {
		return storeError{err}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.use(st)
	return nil
}

// use puts st in place of the storage, whose descriptors it closes.
func (r *Repository) use(st *filesystem.Storage) {
	_ = r.storage.Close() // it was open for reading
	r.storage = st
}

// replace has swap put another repository in this one's place while nobody reads.
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
	r.use(st)
	r.damage = nil
	return nil
}

// readObject reads the object named h. The size is asked for first, so that nothing larger than limit is unpacked. A
// panic in go-git, as a malformed pack may cause, is an error.
func readObject(st *filesystem.Storage, typ plumbing.ObjectType, h plumbing.Hash, limit int64) (raw []byte, err error) {
	defer recoverTo(&err)
	size, err := st.EncodedObjectSize(h)
	if err != nil && !errors.Is(err, plumbing.ErrObjectNotFound) { // an alternate may still have it
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("%d bytes: %w of %d bytes", size, ErrTooLarge, limit)
	}
	obj, err := st.EncodedObject(typ, h)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	if obj.Size() > limit {
		return nil, fmt.Errorf("%d bytes: %w of %d bytes", obj.Size(), ErrTooLarge, limit)
	}
	return readBody(obj, h)
}

// readBody returns a copy of obj's content if its SHA-1 is want.
func readBody(obj plumbing.EncodedObject, want plumbing.Hash) ([]byte, error) {
	body, err := obj.Reader()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	raw := make([]byte, obj.Size())
	if _, err := io.ReadFull(body, raw); err != nil {
		return nil, err
	}
	if got := plumbing.ComputeHash(obj.Type(), raw); got != want {
		return nil, fmt.Errorf("content has SHA-1 %s", got)
	}
	return raw, nil
}

// recoverTo turns a panic into *err.
func recoverTo(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic while unpacking: %v", p)
	}
}
