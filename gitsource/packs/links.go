package packs

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	maxSeen      = 1 << 19 // hashes that a linkList remembers: 10 MiB
	maxKnown     = 1 << 17 // objects outside of the pack that are remembered
	maxLookups   = 4 << 20 // of objects that are not remembered; each reads the file system
	linkSize     = hashSize + 4
	linkBuffer   = 4 << 20 // bytes of links in memory; more are in a file
	linkPart     = 1000 * linkSize
	maxLinks     = 64 << 20 // links of one pack that are checked, without those that are repeated soon
	submodule    = "160000 "
	longestField = len("object ") + 2*hashSize
)

// A linkList collects which objects the objects of a pack name. Most trees name what the tree before named, so a link is noted only if it was not seen shortly
// before.
type linkList struct {
	seen []plumbing.Hash // each at the place that its last bytes name
	dir  string          // for the file
	buf  []byte          // links: a hash, and the record that names it
	file *os.File
	n    int64

	spilled int64 // bytes in file
	s       linkScanner

	known   map[plumbing.Hash]struct{} // objects outside of the pack that were found lately
	lookups int
}

func newLinkList(objects uint32, dir string) *linkList {
	size := min(1<<bits.Len32(4*min(objects, maxSeen)+1024), maxSeen)
	l := &linkList{dir: dir, seen: make([]plumbing.Hash, size)}
	l.s.list = l
	return l
}

func (l *linkList) close() {
	if l.file != nil {
		_ = l.file.Close() // its name was removed when it was made
	}
}

func (l *linkList) add(h plumbing.Hash, from uint32) error {
	at := &l.seen[int(binary.LittleEndian.Uint32(h[16:]))&(len(l.seen)-1)]
	if *at == h && !h.IsZero() { // all places are zero in the beginning
		return nil
	}
	*at = h
	if l.n++; l.n > maxLinks {
		return fmt.Errorf("links between objects: %w of %d", ErrTooLarge, maxLinks)
	}
	l.buf = binary.BigEndian.AppendUint32(append(room(l.buf, linkSize, linkBuffer), h[:]...), from)
	if len(l.buf)+linkSize > linkBuffer {
		return l.spill()
	}
	return nil
}

// spill moves the links in memory to a file.
func (l *linkList) spill() error {
	if l.file == nil {
		file, err := scratchFile(l.dir)
		if err != nil {
			return err
		}
		l.file = file
	}
	if _, err := l.file.Write(l.buf); err != nil {
		return &FileError{err}
	}
	l.spilled += int64(len(l.buf))
	l.buf = l.buf[:0]
	return nil
}

// check returns a *MissingError unless each link leads to an object of the pack, or to a known one.
func (l *linkList) check(ctx context.Context, p *Received, known func(plumbing.Hash) bool) error {
	l.known, l.lookups = nil, 0
	if err := l.checkPart(ctx, l.buf, p, known); err != nil || l.file == nil {
		return err
	}
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return &FileError{err}
	}
	part := make([]byte, linkPart)
	for {
		n, err := io.ReadFull(l.file, part)
		if err := l.checkPart(ctx, part[:n], p, known); err != nil {
			return err
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return &FileError{err}
		}
	}
}

func (l *linkList) checkPart(ctx context.Context, part []byte, p *Received, known func(plumbing.Hash) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for ; len(part) > 0; part = part[linkSize:] {
		h := plumbing.Hash(part[:hashSize])
		if _, found := p.find(h); found {
			continue
		}
		if _, found := l.known[h]; found {
			continue
		}
		if l.lookups++; l.lookups > maxLookups {
			return fmt.Errorf("objects outside of the pack that it names: %w of %d", ErrTooLarge, maxLookups)
		}
		if known(h) {
			if l.known == nil || len(l.known) >= maxKnown {
				l.known = make(map[plumbing.Hash]struct{})
			}
			l.known[h] = struct{}{}
			continue
		}
		from := p.records.at(binary.BigEndian.Uint32(part[hashSize:]))
		return &MissingError{from.typ, from.hash, h}
	}
	return nil
}

// A linkScanner finds the links in the content of one object, which it gets in parts. Of a malformed object it finds what can be read: the code that uses the object
// decides whether to accept it. It is less strict with trees than package gitsource, because old trees in git histories have modes and an order that are
// refused there.
type linkScanner struct {
	list *linkList
	from uint32
	typ  plumbing.ObjectType

	head  [longestField]byte // first bytes of a line of a commit, or of an entry of a tree
	n     int                // bytes of the line or entry, before the hash
	id    plumbing.Hash
	inID  int // bytes of the hash of an entry that were read; -1 before it begins
	ended bool
}

// scan begins to find the links of an object.
func (l *linkList) scan(typ plumbing.ObjectType, from uint32) *linkScanner {
	l.s.from, l.s.typ, l.s.n, l.s.inID, l.s.ended = from, typ, 0, -1, false
	return &l.s
}

// write reads the next part.
func (s *linkScanner) write(p []byte) error {
	switch s.typ { //nolint:exhaustive // blobs name no objects, and the other values are not object types
	case plumbing.TreeObject:
		return s.entries(p)
	case plumbing.CommitObject, plumbing.TagObject:
		return s.lines(p)
	}
	return nil
}

// take notes the first bytes of a line or entry.
func (s *linkScanner) take(p []byte) {
	if s.n < len(s.head) {
		copy(s.head[s.n:], p)
	}
	s.n += len(p)
}

// entries reads entries of a tree: a mode, a space, a name, a zero byte and a hash.
func (s *linkScanner) entries(p []byte) error {
	for len(p) > 0 {
		if s.inID < 0 {
			i := bytes.IndexByte(p, 0)
			if i < 0 {
				s.take(p)
				return nil
			}
			s.take(p[:i])
			p, s.inID = p[i+1:], 0
		}
		n := copy(s.id[s.inID:], p)
		s.inID, p = s.inID+n, p[n:]
		if s.inID < hashSize {
			return nil
		}
		head := bytes.TrimLeft(s.head[:min(s.n, len(s.head))], "0")
		s.n, s.inID = 0, -1
		if !bytes.HasPrefix(head, []byte(submodule)) { // a commit of another repository
			if err := s.list.add(s.id, s.from); err != nil {
				return err
			}
		}
	}
	return nil
}

// lines reads the header of a commit or a tag, up to the empty line.
func (s *linkScanner) lines(p []byte) error {
	for len(p) > 0 && !s.ended {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.take(p)
			return nil
		}
		s.take(p[:i])
		p = p[i+1:]
		if s.n == 0 {
			s.ended = true
			return nil
		}
		if err := s.line(); err != nil {
			return err
		}
		s.n = 0
	}
	return nil
}

// end reads a last line that has no end.
func (s *linkScanner) end() error {
	if s.ended || s.n == 0 || s.typ != plumbing.CommitObject && s.typ != plumbing.TagObject {
		return nil
	}
	return s.line()
}

// line reads one complete line.
func (s *linkScanner) line() error {
	keys := []string{"tree ", "parent "}
	if s.typ == plumbing.TagObject {
		keys = []string{"object "}
	}
	for _, key := range keys {
		if s.n != len(key)+2*hashSize || string(s.head[:len(key)]) != key {
			continue
		}
		var h plumbing.Hash
		digits := s.head[len(key):s.n]
		if _, err := hex.Decode(h[:], digits); err == nil && !bytes.ContainsAny(digits, "ABCDEF") {
			return s.list.add(h, s.from)
		}
	}
	return nil
}
