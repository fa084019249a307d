package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

const (
	maxObjects = 2_000_000 // in one pack: each takes some hundred bytes of memory while it is unpacked
	maxObject  = 128 << 20 // one object, unpacked: it is held in memory together with its delta base
)

// measure reads the pack once without keeping anything, so that no size in it is believed by what allocates memory for
// it later.
func (p *pack) measure(ctx context.Context) error {
	file, err := p.rewound(ctx)
	if err != nil {
		return err
	}
	scanner := packfile.NewScanner(file)
	_, count, err := scanner.Header()
	if err != nil {
		return err
	}
	if count > maxObjects {
		return fmt.Errorf("%d objects: %w of %d", count, ErrTooLarge, maxObjects)
	}
	for range count {
		h, err := scanner.NextObjectHeader()
		if err != nil {
			return noEOF(err)
		}
		if h.Length > maxObject {
			return fmt.Errorf("object of %d bytes: %w of %d bytes", h.Length, ErrTooLarge, maxObject)
		}
		var start deltaStart
		if _, _, err := scanner.NextObject(&start); err != nil {
			return noEOF(err)
		}
		if h.Type.IsDelta() && start.target() > maxObject {
			return fmt.Errorf("object of %d bytes: %w of %d bytes", start.target(), ErrTooLarge, maxObject)
		}
	}
	return nil
}

// noEOF turns an end of file in the middle of a pack into an error that says so.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// A deltaStart keeps the first bytes of a delta, where two sizes stand: of its base and of its result.
type deltaStart struct {
	bytes [20]byte
	n     int
}

func (d *deltaStart) Write(p []byte) (int, error) {
	d.n += copy(d.bytes[d.n:], p)
	return len(p), nil
}

// target returns the size of the result; a size that does not fit 63 bits is as large as they come.
func (d *deltaStart) target() uint64 {
	_, rest := leb128(d.bytes[:d.n])
	size, _ := leb128(rest)
	return size
}

func leb128(b []byte) (uint64, []byte) {
	var n uint64
	for i, c := range b {
		if i > 8 {
			return 1 << 63, b[i:]
		}
		n |= uint64(c&0x7f) << (7 * i)
		if c&0x80 == 0 {
			return n, b[i+1:]
		}
	}
	return n, nil
}
