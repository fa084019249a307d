// Package hostfile reads and writes the small files in the state directory by which a person on the agent's host tells the agent something, such
// as a pause. A file is written durably and in one step, and belongs to the owner of the directory, also if root writes it: the
// agent could not read it otherwise. The package imports nothing of this module.
package hostfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MaxSize bounds the content of a file, in bytes.
const MaxSize = 8 << 10

// Name is the name of a file. Packages use the constants only, so that Names lists every file.
type Name string

// The names of the files.
const (
	Pause        Name = "paused"        // of package pause
	Recover      Name = "recover"       // of package recovery
	AllowRewrite Name = "allow-rewrite" // of package intake
	Retry        Name = "retry"         // of package retry
)

// Names lists every file.
func Names() []Name { return []Name{Pause, Recover, AllowRewrite, Retry} }

// File is a file of a state directory.
type File struct {
	Dir  string // the state directory
	Name Name
}

// Path returns the path of the file.
func (f File) Path() string { return filepath.Join(f.Dir, string(f.Name)) }

// Read reads the file. It follows no link, does not wait for a pipe, and fails for a file of more than MaxSize bytes, and with an *UnsafeError for one that other users may change. A file
// that does not exist is an fs.ErrNotExist.
func (f File) Read() ([]byte, error) {
	if _, err := os.Lstat(f.Path()); err != nil {
		return nil, err
	}
	if err := CheckTrusted(f.Path(), f.owner()...); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(f.Path(), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, MaxSize+1))
	if err == nil && len(text) > MaxSize {
		err = fmt.Errorf("it has more than %d bytes", MaxSize)
	}
	return text, err
}

// owner returns the owner of the directory if root reads the file: root reads what the agent's user trusts.
func (f File) owner() []int {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(f.Dir)
	if err != nil {
		return nil
	}
	if owner, known := info.Sys().(*syscall.Stat_t); known {
		return []int{int(owner.Uid)}
	}
	return nil
}

// Write makes the file durable in one step, in place of an older one.
func (f File) Write(text []byte) error {
	temporary := f.Path() + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a command that was killed
		return err
	}
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the path is the operator's own
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, f.giveToOwner(file), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(temporary, f.Path())
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return f.syncDir()
}

// giveToOwner gives a file that root wrote to the owner of the directory.
func (f File) giveToOwner(file *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(f.Dir)
	if err != nil {
		return err
	}
	if owner, known := info.Sys().(*syscall.Stat_t); known {
		return file.Chown(int(owner.Uid), int(owner.Gid))
	}
	return nil
}

// Remove removes the file durably. It returns false if there was none.
func (f File) Remove() (bool, error) {
	err := os.Remove(f.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = f.syncDir()
	}
	return err == nil, err
}

func (f File) syncDir() error {
	dir, err := os.Open(f.Dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
