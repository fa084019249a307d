package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

const (
	maxObjects = 2_000_000 // in one pack; each takes some hundred bytes of memory while it is unpacked
	maxObject  = 128 << 20 // bytes of one unpacked object; it is in memory together with its delta base
)

// checkLimits reads the pack once without storing it, and checks every size in it, and that it has at most limit objects. Later
// steps allocate memory for these sizes.
func (p *pack) checkLimits(ctx context.Context, limit uint32) error {
	file, err := p.fromStart(ctx)
	if err != nil {
		return err
	}
	scanner := packfile.NewScanner(file)
	_, count, err := scanner.Header()
	if err != nil {
		return err
	}
	if count > limit {
		return fmt.Errorf("%d objects: %w of %d", count, ErrTooLarge, limit)
	}
	for range count {
		h, err := scanner.NextObjectHeader()
		if err != nil {
			return unexpectedEOF(err)
		}
		if h.Length > maxObject {
			return fmt.Errorf("object of %d bytes: %w of %d bytes", h.Length, ErrTooLarge, maxObject)
		}
		var start deltaStart
		if _, _, err := scanner.NextObject(&start); err != nil {
			return unexpectedEOF(err)
		}
		if h.Type.IsDelta() && start.target() > maxObject {
			return fmt.Errorf("object of %d bytes: %w of %d bytes", start.target(), ErrTooLarge, maxObject)
		}
	}
	return nil
}

// unexpectedEOF returns io.ErrUnexpectedEOF for an io.EOF in the middle of a pack, and every other error unchanged.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// A deltaStart stores the first bytes of a delta, which contain two sizes: that of its base and that of its result.
type deltaStart struct {
	bytes [20]byte
	n     int
}

func (d *deltaStart) Write(p []byte) (int, error) {
	d.n += copy(d.bytes[d.n:], p)
	return len(p), nil
}

// target returns the size of the result. It returns 1<<63 for a size with more than 63 bits.
func (d *deltaStart) target() uint64 {
	_, rest := leb128(d.bytes[:d.n])
	size, _ := leb128(rest)
	return size
}

// leb128 reads a size and returns the bytes after it. Source: gitformat-pack, size encoding.
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
