package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Blocks keeps a journal in a service outside of this host: a block of bytes for each commit, one for the base, and a head that says where the journal
// ends. One process at a time may change it, the leader; the service refuses a change of every other process, and every change that does not follow the head
// that the leader knows. Only one goroutine calls Load, Begin, Append and Replace.
type Blocks interface {
	// Load passes the head, the base if there is one, and each commit between them, in order, as they were at one moment. It calls nothing if there is no
	// journal.
	Load(ctx context.Context, to BlockVisitor) error
	// Begin stores the head of a new journal, or removes blocks that interrupted changes left beside the present one.
	Begin(ctx context.Context, head BlockHead) (removed int, err error)
	// Append stores a commit and the head after it: both, or neither. It returns when a majority of the service has them on disk.
	Append(ctx context.Context, first uint64, commit []byte, head BlockHead) error
	// Replace stores a base in place of all commits before head.Next. A crash at any point leaves the old commits or the base. If replaced is true, err says
	// that old blocks were not removed.
	Replace(ctx context.Context, base []byte, head BlockHead) (replaced bool, err error)
	// Follow passes each new commit from the one whose first record has the given number on, until ctx ends or something prevents it. If that record is
	// in a base by now, it returns ErrCompacted.
	Follow(ctx context.Context, first uint64, commit func([]byte) error) error
}

// BlockHead says where a journal ends.
type BlockHead struct {
	Next uint64 // number of the next record
	Data []byte // known to the journal alone; at most 1 KiB
}

// BlockVisitor takes the blocks of a journal. An error ends the reading and is returned unchanged.
type BlockVisitor struct {
	Head         func(BlockHead) error
	Base, Commit func([]byte) error
}

// ErrCompacted means that a follower was too slow: it loads the journal again.
var ErrCompacted = errors.New("the commit is in a base by now")

// blocks is the store of a journal in a service.
type blocks struct {
	remote Blocks
	lock   io.Closer // of the state directory
	here   stateDir
	mark   *mark
	limit  int64 // bytes of commits after which they are compacted
	since  int64 // bytes of the commits after the base
	stored int   // records in the service
	doubt  error // the service shows less than this host knows to be acknowledged
	files  bool  // the directory contains a journal
}

// openBlocks locks the state directory, which keeps the mark of what was acknowledged.
func openBlocks(opts Options) (*blocks, error) {
	d, lock, here, err := lockDirectory(opts.Dir)
	if err != nil {
		return nil, err
	}
	s := &blocks{remote: opts.Blocks, lock: lock, here: here, limit: opts.SegmentSize * int64(opts.CompactAfter)}
	names, err := d.list()
	if err == nil {
		s.files = len(parseListing(names).files()) > 0
		s.mark, err = openMark(d)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

func (s *blocks) load(visit func(frame) error) (loaded, error) {
	return s.loadContext(context.Background(), visit)
}

// loadContext is load with the context of a follower. It remembers whether the mark contradicts what it read.
func (s *blocks) loadContext(ctx context.Context, visit func(frame) error) (loaded, error) {
	s.since, s.doubt = 0, nil
	witness := s.mark.witness()
	r, err := readBlocks(ctx, s.remote, visit, func(f frame) {
		witness.see(f)
		s.since += f.size()
	})
	if err == nil {
		s.doubt = witness.doubt(r.chain)
	}
	s.stored = r.records
	return loaded{chain: r.chain, files: r.files, records: r.records}, err
}

// readBlocks visits every commit of a journal and checks its place in the chain. It also passes those after the base to recent.
func readBlocks(ctx context.Context, remote Blocks, visit func(frame) error, recent func(frame)) (replay, error) {
	r := replay{visit: visit}
	var head header
	err := remote.Load(ctx, BlockVisitor{
		Head: func(h BlockHead) (err error) {
			if head, err = readHeader(bytes.NewReader(h.Data)); err != nil {
				return headDamage(err)
			}
			r.files = 1
			r.chain = chain{id: head.chain.id, born: head.chain.born, next: 1, link: newLink(head.chain.id)}
			return nil
		},
		Base: func(b []byte) error {
			h, err := readHeader(bytes.NewReader(b))
			if err != nil {
				return headDamage(err)
			}
			r.open = func(string) (reader, error) { return nopCloser{bytes.NewReader(b)}, nil }
			return r.base(baseName(h.chain.next - 1))
		},
		Commit: func(b []byte) error { return r.block(b, recent) },
	})
	if err == nil && r.files > 0 && r.chain != head.chain {
		err = &DamageError{"head", 0, fmt.Errorf("the commits end before record %d, the head says %d", r.chain.next, head.chain.next)}
	}
	return r, err
}

func headDamage(err error) error {
	if errors.Is(err, ErrNewerFormat) {
		return err
	}
	return &DamageError{"head", 0, err}
}

// block reads one commit that is a block of its own.
func (r *replay) block(b []byte, recent func(frame)) error {
	name := fmt.Sprintf("commit %d", r.chain.next)
	f, err := followingFrame(r.chain, b)
	if err != nil {
		return &DamageError{name, 0, err}
	}
	if err := r.visit(f); err != nil {
		return (&source{name: name}).damage(err)
	}
	recent(f)
	r.records += f.count
	r.bytes += f.size()
	r.chain.next, r.chain.link = f.last()+1, f.link
	return nil
}

// followingFrame parses the commit that follows the position at.
func followingFrame(at chain, b []byte) (frame, error) {
	f, err := readFrame(bytes.NewReader(b), maxLargePayload)
	switch {
	case err != nil:
		return frame{}, err
	case f.size() != int64(len(b)):
		return frame{}, fmt.Errorf("got %d bytes, want a commit of %d", len(b), f.size())
	case f.seq != at.next:
		return frame{}, fmt.Errorf("got record %d, want %d", f.seq, at.next)
	case !f.follows(at.link):
		return frame{}, errors.New("the link of the commit does not match the commit before")
	}
	return f, nil
}

// headAt is the head of a journal that ends at a position.
func (s *blocks) headAt(at chain, records int) BlockHead {
	h := header{role: roleSegment, chain: at, kept: uint64(records)} //nolint:gosec // not negative
	return BlockHead{Next: at.next, Data: h.bytes()}
}

func (s *blocks) resume(next chain) (cleaned, error) {
	if s.doubt != nil {
		return cleaned{}, s.doubt
	}
	if s.stored == 0 && next.next == 1 && s.files {
		return cleaned{}, errFilesExist
	}
	removed, err := s.remote.Begin(context.Background(), s.headAt(next, s.stored))
	return cleaned{removed: removed}, err
}

// errFilesExist prevents that a cluster with a journal in files begins a second one, which knows no guest.
var errFilesExist = fmt.Errorf("the service has no journal, but the state directory has one: gitops-agent journal copy --from files --to etcd moves it: %w", fs.ErrExist)

func (s *blocks) append(at chain, f frame) error {
	at.next, at.link = f.last()+1, f.link
	if err := s.remote.Append(context.Background(), f.seq, f.append(make([]byte, 0, f.size())), s.headAt(at, s.stored+f.count)); err != nil {
		return err
	}
	s.since += f.size()
	s.stored += f.count
	return s.mark.set(at)
}

func (s *blocks) takesCommits() error { return s.present() }

func (s *blocks) rotate(chain) (full bool, err error) { return s.since >= s.limit, nil }

func (s *blocks) compact(at chain, pick func(frame, func(frame) error) error) (records int, replaced bool, err error) {
	var base memory
	h := header{role: roleBase, chain: at}
	err = fillBase(&base, &h, func(add func(frame) error) error {
		r, err := readBlocks(context.Background(), s.remote, func(f frame) error { return pick(f, add) }, func(frame) {})
		if err != nil {
			return err
		}
		return endsAt(r.chain, at, listing{})
	})
	if err != nil {
		return 0, false, err
	}
	records = int(h.kept) //nolint:gosec // a count of records that fit into memory
	if replaced, err = s.remote.Replace(context.Background(), base, s.headAt(at, records)); replaced {
		s.since, s.stored = 0, records
	}
	return records, replaced, err
}

func (s *blocks) present() error { return s.here.present() }

func (s *blocks) writable() error { return s.here.writable() }

func (s *blocks) close() error { return errors.Join(s.mark.close(), s.lock.Close()) }

// memory is a file in memory that is written from its start on.
type memory []byte

// WriteAt implements io.WriterAt.
func (m *memory) WriteAt(b []byte, off int64) (int, error) {
	if end := int(off) + len(b); end > len(*m) {
		*m = append(*m, make([]byte, end-len(*m))...)
	}
	return copy((*m)[off:], b), nil
}
