package journal

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
)

// replay reads a journal from its first commit to its last and checks every checksum, link, number and count.
type replay struct {
	open    func(name string) (reader, error)
	visit   func(frame) error // an error that is not damage is wrapped in visitError
	active  string            // the segment that may end in a torn commit; "" if none may
	chain   chain             // after the last commit that was read
	files   int
	records int
	bytes   int64 // valid ones
	tail    tail
}

// tail is the end of the last segment, where the next commit is written. It has no name if there is no segment.
type tail struct {
	name   string
	large  bool  // the segment has version 2
	size   int64 // valid bytes
	torn   int64 // bytes after them: a commit that a crash interrupted
	last   frame
	lastAt int64 // offset of last; 0 if the segment has no commit yet
}

// run reads the files of l. It returns *DamageError, ErrNewerFormat, or the error of visit or of the disk.
func (r *replay) run(l listing) error {
	if l.base != "" {
		if err := r.base(l.base); err != nil {
			return err
		}
	}
	for _, name := range l.segments {
		if err := r.segment(name); err != nil {
			return err
		}
	}
	return nil
}

// base reads a compacted file. Its own chain starts at the link of the commit that it continues from and ends at the link in its header.
func (r *replay) base(name string) error {
	src, h, err := r.start(name, roleBase)
	if err != nil {
		return err
	}
	defer src.Close()
	if name != baseName(h.chain.next-1) {
		return &DamageError{name, 0, fmt.Errorf("the header belongs to %s", baseName(h.chain.next-1))}
	}
	r.chain = h.chain
	before := r.records
	seq := uint64(0)
	end, err := r.frames(src, h.chain.link, func(f frame) error {
		if f.seq <= seq || f.last() >= h.chain.next {
			return fmt.Errorf("got records %d to %d after record %d in a base that ends before record %d", f.seq, f.last(), seq, h.chain.next)
		}
		seq = f.last()
		return nil
	})
	if err != nil {
		return src.damage(err)
	}
	if kept := uint64(r.records - before); kept != h.kept || end != h.end { //nolint:gosec // a count
		return &DamageError{name, src.at, fmt.Errorf("got %d records, want %d and the link in the header", kept, h.kept)}
	}
	return nil
}

// segment reads a file whose commits continue the chain. The first file of a journal without a base starts the chain.
func (r *replay) segment(name string) error {
	src, h, err := r.start(name, roleSegment)
	if err != nil {
		return err
	}
	defer src.Close()
	if h.chain.next == 1 && h.chain.link == newLink(h.chain.id) {
		r.chain = h.chain
	}
	if h.chain != r.chain || name != segmentName(h.chain.next) {
		return &DamageError{name, 0, fmt.Errorf("the header continues with record %d of %s, want record %d of %s: a file is missing or belongs to another journal",
			h.chain.next, h.chain.lineage(), max(r.chain.next, 1), r.chain.lineage())}
	}
	r.chain.link, err = r.frames(src, r.chain.link, func(f frame) error {
		if f.seq != r.chain.next {
			return fmt.Errorf("got record %d, want %d", f.seq, r.chain.next)
		}
		r.chain.next = f.last() + 1
		return nil
	})
	r.tail = tail{name: name, large: h.large, size: src.at, last: src.last, lastAt: src.lastAt}
	if name == r.active && (errors.Is(err, errShort) || errors.Is(err, errFrame)) {
		r.tail.torn, err = r.torn(src, err)
	}
	if err != nil {
		return src.damage(err)
	}
	return nil
}

// source is a file that is being read.
type source struct {
	reader
	name   string
	stream *bufio.Reader
	limit  int   // of a payload
	at     int64 // end of the valid bytes that were read
	last   frame
	lastAt int64
}

func (r *replay) start(name string, role uint32) (*source, header, error) {
	f, err := r.open(name)
	if err != nil {
		return nil, header{}, fmt.Errorf("open %s: %w", name, err)
	}
	src := &source{reader: f, name: name, stream: bufio.NewReaderSize(streamFrom(f, 0), 1<<16)}
	h, err := readHeader(src.stream)
	if err == nil && h.role != role {
		err = fmt.Errorf("%w: got role %d, want %d", errHeader, h.role, role)
	}
	if err != nil {
		_ = f.Close()
		return nil, header{}, src.damage(err)
	}
	src.limit, src.at = h.limit(), headerSize
	r.files++
	r.bytes += headerSize
	return src, h, nil
}

// streamFrom reads f from an offset to its end.
func streamFrom(f io.ReaderAt, at int64) io.Reader {
	return io.NewSectionReader(f, at, math.MaxInt64-at)
}

// frames reads commits until the file ends and returns the last one's link. It visits a commit if check accepts the commit's numbers.
func (r *replay) frames(src *source, link [sha256.Size]byte, check func(frame) error) ([sha256.Size]byte, error) {
	for {
		f, err := readFrame(src.stream, src.limit)
		if errors.Is(err, io.EOF) {
			return link, nil
		}
		if err != nil {
			return link, err
		}
		if !f.follows(link) {
			return link, errors.New("the link of the commit does not match the commit before")
		}
		if err := check(f); err != nil {
			return link, err
		}
		if err := r.visit(f); err != nil {
			return link, err
		}
		r.records += f.count
		r.bytes += f.size()
		src.last, src.lastAt = f, src.at
		src.at += f.size()
		link = f.link
	}
}

// eachRecord turns a visitor of records into a visitor of commits.
func eachRecord(yield func(Record) error) func(frame) error {
	return func(f frame) error {
		records, err := f.records()
		if err != nil {
			return err
		}
		for _, rec := range records {
			if err := yield(rec); err != nil {
				return visitError{err}
			}
		}
		return nil
	}
}

// visitError is an error of the visitor. It does not mean that the journal is damaged.
type visitError struct{ error }

func (src *source) damage(err error) error {
	if errors.Is(err, ErrNewerFormat) {
		return fmt.Errorf("read %s: %w", src.name, err)
	}
	if v := (visitError{}); errors.As(err, &v) {
		return v.error
	}
	return &DamageError{src.name, src.at, err}
}

// torn returns the number of bytes after the last valid commit of the active segment if a crash explains them, and otherwise cause. A
// commit is written after the one before it was synced, so a crash tears only the last commit. A later commit behind the bad bytes
// proves that the bad bytes were synced once, and that they are damage.
func (r *replay) torn(src *source, cause error) (int64, error) {
	rest, err := io.ReadAll(streamFrom(src, src.at))
	if err != nil {
		return 0, err
	}
	for off := 0; ; {
		later, at := findFrame(rest[off:], src.limit)
		if at < 0 {
			return int64(len(rest)), nil
		}
		if off+at == 0 {
			return 0, nil // a running agent has completed the commit in the meantime; the reader stops before it
		}
		if later.seq > r.chain.next {
			return 0, cause
		}
		off += at + 1 // an old block of the disk that appeared with the torn write
	}
}
