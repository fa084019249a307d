package agent

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A refreshedRoot is the trusted root that TUF brought last. It outlives the agent: otherwise whoever keeps the mirror away could
// bring back an older root by a restart, with authorities that were revoked since.
type refreshedRoot struct {
	URL string // of the TUF repository
	// Pinned is the SHA-256 of the trusted root file as it was then. Somebody who changes the file afterwards has the last word
	// until TUF brings something new.
	Pinned [sha256.Size]byte
	Root   []byte // trusted_root.json
}

func (t *trust) storeDir() string { return filepath.Join(t.config.StateDir, "trust") }

func (t *trust) storeFile() string { return filepath.Join(t.storeDir(), "refreshed.json") }

// restore reads what an earlier life was brought. After an error the pinned file is in force, which is valid without it.
func (t *trust) restore() error {
	data, err := readBounded(t.storeFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	stored := &refreshedRoot{}
	if err == nil {
		err = json.Unmarshal(data, stored)
	}
	if err == nil {
		err = t.fit(stored.Root)
	}
	if err != nil {
		return fmt.Errorf("read refreshed trusted root: %w", err)
	}
	if stored.URL == t.tuf.URL {
		t.refreshed = stored
	}
	return nil
}

// save makes a refreshed root durable. A crash leaves the old one or the new one.
func (t *trust) save(r *refreshedRoot) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode refreshed trusted root: %w", err)
	}
	if err := os.MkdirAll(t.storeDir(), 0o700); err != nil {
		return fmt.Errorf("save refreshed trusted root: %w", err)
	}
	if err := replaceFile(t.storeFile(), data); err != nil {
		return fmt.Errorf("save refreshed trusted root: %w", err)
	}
	return nil
}

// replaceFile writes a file beside path, syncs it, and renames it.
func replaceFile(path string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
