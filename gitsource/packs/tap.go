package packs

import (
	"fmt"
	"hash/crc32"
	"io"

	"github.com/go-git/go-git/v5/plumbing/hash"
)

// A tap reads a stream, and writes to a file what was read. It reads no byte more than it is asked for, so that an inflater stops at the end of its content.
type tap struct {
	in  io.Reader
	out io.Writer
	sum hash.Hash // of what was written

	buf         []byte
	next, until int   // bytes of buf that are not read yet
	flushed     int   // bytes of buf that are written
	mark        int   // byte of buf up to which the crc has what was read
	before      int64 // bytes before buf
	most        int64 // offset up to which the object may reach; 0 is no limit
	crc         uint32
}

// errPacked refuses content whose packed form is larger than compression makes it.
var errPacked = fmt.Errorf("the packed content is %w for its size", ErrTooLarge)

// offset returns how many bytes were read.
func (t *tap) offset() int64 { return t.before + int64(t.next) }

// begin begins a checksum of what is read next.
func (t *tap) begin() { t.crc, t.mark = 0, t.next }

// checksum returns the checksum of what was read since begin.
func (t *tap) checksum() uint32 {
	t.crc = crc32.Update(t.crc, crc32.IEEETable, t.buf[t.mark:t.next])
	t.mark = t.next
	return t.crc
}

// flush writes what was read.
func (t *tap) flush() error {
	part := t.buf[t.flushed:t.next]
	_, _ = t.sum.Write(part) // cannot fail
	t.flushed = t.next
	if _, err := t.out.Write(part); err != nil {
		return &FileError{err}
	}
	return nil
}

// fill reads more, when everything in the buffer was read.
func (t *tap) fill() error {
	t.checksum()
	if err := t.flush(); err != nil {
		return err
	}
	t.before += int64(t.next)
	t.next, t.until, t.flushed, t.mark = 0, 0, 0, 0
	if t.most > 0 && t.before > t.most {
		return errPacked
	}
	for range 100 {
		n, err := t.in.Read(t.buf)
		t.until = n
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// Read implements io.Reader.
func (t *tap) Read(p []byte) (int, error) {
	if t.next == t.until {
		if err := t.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, t.buf[t.next:t.until])
	t.next += n
	return n, nil
}

// ReadByte implements io.ByteReader.
func (t *tap) ReadByte() (byte, error) {
	if t.next == t.until {
		if err := t.fill(); err != nil {
			return 0, err
		}
	}
	b := t.buf[t.next]
	t.next++
	return b, nil
}
