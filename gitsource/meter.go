package gitsource

import (
	"context"
	"fmt"
	"io"
	"os"
)

// A meter reads from a remote until the fetch's allowance is used up.
type meter struct {
	r    io.Reader
	left *int64 // bytes, shared by all streams of one fetch
}

func (m *meter) Read(p []byte) (int, error) {
	if *m.left <= 0 {
		return 0, fmt.Errorf("the fetch is %w", ErrTooLarge)
	}
	if int64(len(p)) > *m.left {
		p = p[:*m.left]
	}
	n, err := m.r.Read(p)
	*m.left -= int64(n)
	return n, err
}

// A ctxFile is a file whose reads end with the context: go-git's pack parser knows none.
type ctxFile struct {
	*os.File
	ctx context.Context // a field, since the parser calls Read
}

func (f ctxFile) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}
