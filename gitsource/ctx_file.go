package gitsource

import (
	"context"
	"os"
)

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
