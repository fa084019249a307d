package packs

import (
	"bufio"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
)

// An inflater reads compressed content. Its buffers are used again for each object.
type inflater struct {
	in  *bufio.Reader
	out io.ReadCloser // a zlib reader

	content *bufio.Reader // of a delta
}

// read returns a reader of the instructions of a delta. It is valid until the next call.
func (z *inflater) read(r io.Reader) *bufio.Reader {
	if z.content == nil {
		z.content = bufio.NewReaderSize(r, 4<<10)
	} else {
		z.content.Reset(r)
	}
	return z.content
}

// from sets what is read next.
func (z *inflater) from(r io.Reader) *bufio.Reader {
	if z.in == nil {
		z.in = bufio.NewReaderSize(r, 4<<10)
	} else {
		z.in.Reset(r)
	}
	return z.in
}

// open begins to unpack what from has set.
func (z *inflater) open() (io.Reader, error) {
	if z.out == nil {
		out, err := zlib.NewReader(z.in)
		z.out = out
		if err != nil {
			z.out = nil
			return nil, unexpectedEOF(err)
		}
		return z.out, nil
	}
	return z.out, unexpectedEOF(z.out.(zlib.Resetter).Reset(z.in, nil))
}

// end returns an error unless r is at its end. It makes zlib compare its checksum. It overwrites the first byte of buf.
func end(r io.Reader, buf []byte) error {
	n, err := io.ReadFull(r, buf[:1])
	switch {
	case n > 0:
		return errors.New("the content is longer than the object declares")
	case errors.Is(err, io.EOF):
		return nil
	}
	return fmt.Errorf("unpack: %w", err)
}

// fill reads exactly len(b) bytes.
func fill(r io.Reader, b []byte) error {
	if _, err := io.ReadFull(r, b); err != nil {
		return fmt.Errorf("unpack: %w", unexpectedEOF(err))
	}
	return nil
}
