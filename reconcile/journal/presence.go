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

// Present returns an error that wraps ErrGone if another process could use the state directory now, because its path no longer leads to the file
// that this process locked, or if the last segment was removed. It takes one lstat. The error of a path ends when the same directory is back.
func (j *Journal) Present() error {
	if err := j.lockPresent(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.removed
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

// takesRecords returns why the next commit must not be written: it would be lost, or it would damage the journal of another process. Only the
// writer calls it.
func (j *Journal) takesRecords() error {
	if err := j.Present(); err != nil {
		return err
	}
	f, isFile := j.active.(*os.File)
	if !isFile {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil // the write reports it
	}
	if s, known := info.Sys().(*syscall.Stat_t); known && s.Nlink == 0 {
		err := fmt.Errorf("%w: %s has no name any more", ErrGone, f.Name())
		j.mu.Lock()
		defer j.mu.Unlock()
		j.removed = err // the segment does not get its name back
		return err
	}
	return nil
}
