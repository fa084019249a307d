// Package durable writes files that survive a crash whole.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write creates or replaces a file with a mode. After a crash the file has either its old content or all of the new content.
func Write(path string, content []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, filepath.Base(path)+".tmp-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	parent, err := os.Open(dir) //nolint:gosec // the operator chooses the path
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}
