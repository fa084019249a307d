package agent

import (
	"errors"
	"os"
	"path/filepath"
)

// writeDurably creates or replaces a file with mode 0600. After a crash the file has either its old content or all of the new content.
func writeDurably(path string, content []byte) error {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, filepath.Base(path)+".tmp-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Sync(), file.Close())
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
