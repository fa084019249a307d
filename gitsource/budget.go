package gitsource

import (
	"context"
	"fmt"
	"io"
	"os"
)

// A meter reads from a remote until the fetch's allowance is used up.
type budgetReader struct {
	r         io.Reader
	remaining *int64 // bytes, shared by all streams of one fetch
}

func (m *budgetReader) Read(p []byte) (int, error) {
	if *m.remaining <= 0 {
		return 0, fmt.Errorf("the fetch is %w", ErrTooLarge)
	}
	if int64(len(p)) > *m.remaining {
		p = p[:*m.remaining]
	}
	n, err := m.r.Read(p)
	*m.remaining -= int64(n)
	return n, err
}

// A ctxFile is a file whose reads fail when the context is done. go-git's pack parser does not support contexts.
type ctxFile struct {
	*os.File
	ctx context.Context // a field because the parser calls Read
}

func (f ctxFile) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}
