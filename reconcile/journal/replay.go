package journal

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
)

// replay reads a journal from its first commit to its last and checks everything that can be checked on the way.
type replay struct {
	open    func(name string) (reader, error)
	visit   func(frame) error // wraps in stopped what is no damage
	growing string            // the segment that may end in a torn commit; "" when none may
	chain   chain             // after the last commit that was read
	files   int
	records int
	bytes   int64 // that hold
	tail    tail
}

// tail is the end of the last segment, where the next commit goes. It has no name when there is no segment.
type tail struct {
	name   string
	size   int64 // bytes that hold
	torn   int64 // bytes after them that a crash left unfinished
	last   frame
	lastAt int64 // where last begins; 0 when the segment has no commit yet
}

// run reads the files of l. It returns *DamageError, ErrNewerFormat, or what visit or the disk returned.
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

// base reads a compacted file. Its own chain starts at the link it carries over and ends at the one in its header.
func (r *replay) base(name string) error {
	src, h, err := r.start(name, roleBase)
	if err != nil {
		return err
	}
	defer src.Close()
	if name != baseName(h.chain.next-1) {
		return &DamageError{name, 0, fmt.Errorf("its header says %s", baseName(h.chain.next-1))}
	}
	r.chain = h.chain
	before := r.records
	seq := uint64(0)
	end, err := r.frames(src, h.chain.link, func(f frame) error {
		if f.seq <= seq || f.last() >= h.chain.next {
			return fmt.Errorf("got records %d to %d after %d in a base that ends before %d", f.seq, f.last(), seq, h.chain.next)
		}
		seq = f.last()
		return nil
	})
	if err != nil {
		return src.damage(err)
	}
	if kept := uint64(r.records - before); kept != h.kept || end != h.end { //nolint:gosec // a count
		return &DamageError{name, src.at, fmt.Errorf("got %d records, want %d and the link in its header", kept, h.kept)}
	}
	return nil
}

// segment reads a file whose commits continue the chain. The first file of a journal without a base begins it.
func (r *replay) segment(name string) error {
	src, h, err := r.start(name, roleSegment)
	if err != nil {
		return err
	}
	defer src.Close()
	if h.chain.next == 1 && h.chain.link == sha256.Sum256(h.chain.id[:]) {
		r.chain = h.chain
	}
	if h.chain != r.chain || name != segmentName(h.chain.next) {
		return &DamageError{name, 0, fmt.Errorf("it goes on with record %d of %s, want record %d of %s: a file is missing or foreign",
			h.chain.next, h.chain.lineage(), max(r.chain.next, 1), r.chain.lineage())}
	}
	r.chain.link, err = r.frames(src, r.chain.link, func(f frame) error {
		if f.seq != r.chain.next {
			return fmt.Errorf("got record %d, want %d", f.seq, r.chain.next)
		}
		r.chain.next = f.last() + 1
		return nil
	})
	r.tail = tail{name: name, size: src.at, last: src.last, lastAt: src.lastAt}
	if name == r.growing && (errors.Is(err, errShort) || errors.Is(err, errFrame)) {
		r.tail.torn, err = r.torn(src, err)
	}
	if err != nil {
		return src.damage(err)
	}
	return nil
}

// source is a file being read.
type source struct {
	reader
	name   string
	stream *bufio.Reader
	at     int64 // end of what was read and holds
	last   frame
	lastAt int64
}

func (r *replay) start(name string, role uint32) (*source, header, error) {
	f, err := r.open(name)
	if err != nil {
		return nil, header{}, fmt.Errorf("open %s: %w", name, err)
	}
	src := &source{reader: f, name: name, stream: bufio.NewReaderSize(from(f, 0), 1<<16)}
	h, err := readHeader(src.stream)
	if err == nil && h.role != role {
		err = fmt.Errorf("%w: got role %d, want %d", errHeader, h.role, role)
	}
	if err != nil {
		_ = f.Close()
		return nil, header{}, src.damage(err)
	}
	src.at = headerSize
	r.files++
	r.bytes += headerSize
	return src, h, nil
}

// from reads f from an offset to its end, wherever that is.
func from(f io.ReaderAt, at int64) io.Reader { return io.NewSectionReader(f, at, math.MaxInt64-at) }

// frames reads commits until the file ends and returns the last one's link. A commit is visited once place agreed to it.
func (r *replay) frames(src *source, link [sha256.Size]byte, place func(frame) error) ([sha256.Size]byte, error) {
	for {
		f, err := readFrame(src.stream)
		if errors.Is(err, io.EOF) {
			return link, nil
		}
		if err != nil {
			return link, err
		}
		if !f.follows(link) {
			return link, errors.New("the commit does not follow the one before")
		}
		if err := place(f); err != nil {
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

// eachRecord makes a visitor of commits from one of records.
func eachRecord(yield func(Record) error) func(frame) error {
	return func(f frame) error {
		records, err := f.records()
		if err != nil {
			return err
		}
		for _, rec := range records {
			if err := yield(rec); err != nil {
				return stopped{err}
			}
		}
		return nil
	}
}

// stopped marks an error of the visitor, which is no damage.
type stopped struct{ error }

func (src *source) damage(err error) error {
	if errors.Is(err, ErrNewerFormat) {
		return fmt.Errorf("read %s: %w", src.name, err)
	}
	if s := (stopped{}); errors.As(err, &s) {
		return s.error
	}
	return &DamageError{src.name, src.at, err}
}

// torn decides what the bytes are that end the last segment and hold no valid commit. A commit is written after the one
// before was synced, so a crash tears the last one only: a later commit behind the bad bytes proves that they were synced
// once, which makes them damage, and cause is returned.
func (r *replay) torn(src *source, cause error) (int64, error) {
	rest, err := io.ReadAll(from(src, src.at))
	if err != nil {
		return 0, err
	}
	for off := 0; ; {
		later, at := findFrame(rest[off:])
		if at < 0 {
			return int64(len(rest)), nil
		}
		if off+at == 0 {
			return 0, nil // a running agent finished the commit meanwhile; the reader stops before it
		}
		if later.seq > r.chain.next {
			return 0, cause
		}
		off += at + 1 // an old block of the disk that surfaced with the torn write
	}
}
