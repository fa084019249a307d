package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ErrGone means that the state directory is no longer the one that this process locked: the lock file or the last segment was removed or
// replaced, or the directory was removed, replaced or unmounted. Nothing was written.
var ErrGone = errors.New("the state directory was removed or replaced while the agent runs")

// stateDir tells what became of the state directory since this process locked it.
type stateDir struct{ present, writable func() error }

// nothingChanges is the state directory of a test's disk, and of a file system on which no file can be locked.
var nothingChanges = stateDir{func() error { return nil }, func() error { return nil }}

// Present returns an error that wraps ErrGone if another process could use the state directory now, because its path no longer leads to the file
// that this process locked, or if the last segment was removed. It takes one lstat. The error of a path ends when the same directory is back.
func (j *Journal) Present() error { return j.store.present() }

// Writable returns an error while the file system of the state directory is read-only, as the kernel makes it after an error of the disk. It opens a file and changes nothing.
func (j *Journal) Writable() error { return j.store.writable() }

// writability returns the check that the file system of a directory takes writes. Other errors are those of Present or of the next record.
func writability(d osDisk) func() error {
	return func() error {
		f, err := d.root.OpenFile(lockName, os.O_WRONLY, 0)
		if err == nil {
			_ = f.Close() // nothing was written
		}
		if errors.Is(err, syscall.EROFS) {
			return fmt.Errorf("write to the state directory: %w", err)
		}
		return nil
	}
}

// presence returns the check that the name of the lock file in dir still leads to the open file f.
func presence(dir string, f *os.File) func() error {
	path := filepath.Join(dir, lockName)
	held, err := f.Stat()
	if err != nil {
		return func() error { return fmt.Errorf("%w: %w", ErrGone, err) }
	}
	return func() error {
		switch found, err := os.Lstat(path); {
		case err != nil:
			return fmt.Errorf("%w: %w", ErrGone, err)
		case !os.SameFile(held, found):
			return fmt.Errorf("%w: %s is not the file that this agent locked", ErrGone, path)
		}
		return nil
	}
}
