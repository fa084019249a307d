package gitsource

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5"
)

const (
	maxPackedRefs = 64 << 20 // bytes of packed-refs, which go-git reads line by line: about 70 for each ref
	maxGitFile    = 1 << 20  // bytes of every other file outside of objects, which go-git reads whole
)

// regularFiles is the file system of a repository that may belong to somebody else. It opens only regular files: opening a named pipe would wait for a
// writer without end, and a device may have no end.
type regularFiles struct{ billy.Filesystem }

// Open opens a regular file for reading.
func (r regularFiles) Open(name string) (billy.File, error) {
	if err := r.check(name); err != nil {
		return nil, err
	}
	return r.Filesystem.Open(name)
}

// OpenFile opens a regular file, or creates one.
func (r regularFiles) OpenFile(name string, flag int, mode os.FileMode) (billy.File, error) {
	if err := r.check(name); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return r.Filesystem.OpenFile(name, flag, mode)
}

// check returns an error for a file that must not be opened, or that does not exist.
func (r regularFiles) check(name string) error {
	info, err := r.Stat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return nil // opening it fails in the usual way
	case !info.Mode().IsRegular():
		return &os.PathError{Op: "open", Path: name, Err: fmt.Errorf("not a regular file, but %s", info.Mode().Type())}
	case info.Size() > sizeLimit(filepath.ToSlash(name)):
		return &os.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w of %d bytes", ErrTooLarge, sizeLimit(filepath.ToSlash(name)))}
	}
	return nil
}

// sizeLimit returns the largest size of a file of git, in bytes. Packs and their indexes are read in parts, and have none.
func sizeLimit(name string) int64 {
	switch {
	case strings.HasPrefix(name, "objects/"):
		return math.MaxInt64
	case name == "packed-refs":
		return maxPackedRefs
	}
	return maxGitFile
}
