package packs

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-git/go-git/v5/plumbing"
)

// An entry is the header of one object in a pack.
type entry struct {
	typ     plumbing.ObjectType
	size    int64 // bytes of the content, or of the delta, as declared
	content int64 // where the compressed content begins
	base    int64 // where the base of a delta is
}

// readEntry reads the header of the object at offset.
func (s *Set) readEntry(p *pack, offset int64) (entry, error) {
	in, err := s.reader(p, offset)
	if err != nil {
		return entry{}, err
	}
	at := &counter{in: in}
	e, err := at.entry()
	if err != nil {
		return entry{}, unexpectedEOF(err)
	}
	switch e.typ { //nolint:exhaustive // the other types have no base
	case plumbing.OFSDeltaObject:
		distance, err := at.distance()
		if err != nil {
			return entry{}, unexpectedEOF(err)
		}
		if e.base = offset - distance; distance == 0 || e.base < packHeader {
			return entry{}, fmt.Errorf("the base is %d bytes before", distance)
		}
	case plumbing.REFDeltaObject:
		var base plumbing.Hash
		if _, err := io.ReadFull(in, base[:]); err != nil {
			return entry{}, unexpectedEOF(err)
		}
		at.n += hashSize
		if e.base, err = p.find(s.files, base); err != nil {
			return entry{}, fmt.Errorf("base %s: %w", base, damaged(err))
		}
	}
	e.content = offset + at.n
	return e, nil
}

// reader returns the bytes of the pack from offset on. It is valid until the next call.
func (s *Set) reader(p *pack, offset int64) (*bufio.Reader, error) {
	file, err := s.files.get(p.name + ".pack")
	if err != nil {
		return nil, err
	}
	return s.zlib.from(io.NewSectionReader(file, offset, p.size-offset)), nil
}

// A counter counts the bytes of a header.
type counter struct {
	in io.ByteReader
	n  int64
}

// ReadByte implements io.ByteReader.
func (c *counter) ReadByte() (byte, error) {
	c.n++
	return c.in.ReadByte()
}

// entry reads type and size: the size has four bits in the first byte, and groups of seven in the following ones.
func (c *counter) entry() (entry, error) {
	first, err := c.ReadByte()
	if err != nil {
		return entry{}, err
	}
	e := entry{typ: plumbing.ObjectType(first >> 4 & 7), size: int64(first & 0x0f)}
	if first&0x80 != 0 {
		rest, err := binary.ReadUvarint(c)
		if err != nil {
			return entry{}, err
		}
		if rest > math.MaxInt64>>4 {
			return entry{}, ErrTooLarge
		}
		e.size |= int64(rest) << 4
	}
	switch e.typ { //nolint:exhaustive // the others are not in packs
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject, plumbing.OFSDeltaObject, plumbing.REFDeltaObject:
		return e, nil
	}
	return entry{}, fmt.Errorf("object of the type %d", e.typ)
}

// distance reads how far the base of a delta is before it.
func (c *counter) distance() (int64, error) {
	var n int64
	for range 9 { // 63 bits
		b, err := c.ReadByte()
		if err != nil {
			return 0, err
		}
		n |= int64(b & 0x7f)
		if b&0x80 == 0 {
			return n, nil
		}
		n = (n + 1) << 7
	}
	return 0, ErrTooLarge
}

// digits returns the bytes of an even number of the hexadecimal digits in prefix, of which there must be at least two.
func digits(prefix string) ([]byte, error) {
	begin, err := hex.DecodeString(prefix[:len(prefix)&^1])
	if err == nil && len(begin) == 0 {
		err = errors.New("a prefix has at least two digits")
	}
	return begin, err
}

// unexpectedEOF returns io.ErrUnexpectedEOF for an end in the middle of something.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// damaged returns an error that is not ErrNotFound: a missing base means that the pack is damaged, not that the object does not exist.
func damaged(err error) error {
	if errors.Is(err, ErrNotFound) {
		return errors.New("not in the pack")
	}
	return err
}
