package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
)

// disk is the directory of a journal. It has two implementations: osDisk, and the disk of the tests, which can be full, fail and lose
// data that was not synced. Names have no folder.
type disk interface {
	list() ([]string, error) // sorted
	open(name string) (reader, error)
	create(name string) (file, error) // empty
	resume(name string) (file, error)
	rename(from, to string) error
	remove(name string) error
	linkInto(names []string, folder string) error // makes a new folder with hard links to the files, durably
	sync() error                                  // makes create, rename and remove durable
}

// reader is an open file. It stays readable after the file is renamed or removed.
type reader interface {
	io.ReaderAt
	io.Closer
}

// file is an open file for writing. The journal itself counts the offsets.
type file interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// osDisk is a directory of the operating system. It never leaves the directory.
type osDisk struct{ root *os.Root }

func openDisk(dir string) (osDisk, error) {
	root, err := os.OpenRoot(dir)
	return osDisk{root}, err
}

func (d osDisk) list() ([]string, error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func (d osDisk) open(name string) (reader, error) { return d.root.Open(name) }

func (d osDisk) create(name string) (file, error) {
	return d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

func (d osDisk) resume(name string) (file, error) { return d.root.OpenFile(name, os.O_RDWR, 0) }

func (d osDisk) rename(from, to string) error { return d.root.Rename(from, to) }

func (d osDisk) remove(name string) error { return d.root.Remove(name) }

func (d osDisk) linkInto(names []string, folder string) error {
	if err := d.root.Mkdir(folder, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		if err := d.root.Link(name, path.Join(folder, name)); err != nil {
			return err
		}
	}
	if err := d.syncDir(folder); err != nil {
		return err
	}
	return d.sync()
}

func (d osDisk) sync() error { return d.syncDir(".") }

func (d osDisk) syncDir(name string) error {
	dir, err := d.root.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

// writeFile creates the file name, fills it, and makes its content and its name durable. A crash leaves the whole file or only
// name+".tmp".
func writeFile(d disk, name string, fill func(io.WriterAt) error) (file, error) {
	tmp := name + tmpSuffix
	f, err := d.create(tmp)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", name, err)
	}
	err = fill(f)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, errors.Join(err, f.Close(), d.remove(tmp)))
	}
	if err = d.rename(tmp, name); err == nil {
		err = d.sync()
	}
	if err != nil {
		return nil, installError{fmt.Errorf("install %s: %w", name, errors.Join(err, f.Close()))}
	}
	return f, nil
}

// installError means that the next start may or may not find a file under its name.
type installError struct{ error }

func (e installError) Unwrap() error { return e.error }
