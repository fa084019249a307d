package agent

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// secretKeySize is the size of the key that fingerprints and salts are made with, in bytes.
const secretKeySize = 32

// secretKey returns the key in the state directory, and makes one where none is. Without it the fingerprints in the journal say
// nothing, so it is durable before it is used.
func secretKey(stateDir string) ([]byte, error) {
	path := filepath.Join(stateDir, "secrets.key")
	key, err := os.ReadFile(path) //nolint:gosec // the path is the operator's own
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return newSecretKey(stateDir, path)
	case err != nil:
		return nil, fmt.Errorf("read key of secrets: %w", err)
	case len(key) != secretKeySize:
		return nil, fmt.Errorf("read key of secrets: %s has %d bytes, want %d: put it back from a backup, or remove it and let every guest be given its password once more",
			path, len(key), secretKeySize)
	}
	return key, nil
}

func newSecretKey(dir, path string) ([]byte, error) {
	key := make([]byte, secretKeySize)
	_, _ = rand.Read(key) // never fails, by its documentation
	if err := writeDurably(dir, path, key); err != nil {
		return nil, fmt.Errorf("make key of secrets: %w", err)
	}
	return key, nil
}

// writeDurably makes a file that is there as a whole or not at all, also after a crash.
func writeDurably(dir, path string, content []byte) error {
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
	parent, err := os.Open(dir) //nolint:gosec // the path is the operator's own
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}
