package agent

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gitops-agent/internal/durable"
)

// refreshedRoot is the newest trusted root from TUF. The state directory keeps it: otherwise an attacker who blocks the mirror could bring
// back an older root by a restart of the agent, with authorities that have been revoked since.
type refreshedRoot struct {
	URL string // of the TUF repository
	// Pinned is the SHA-256 of the trusted root file at the time of the refresh. If the file was changed after that, the file is in force
	// until TUF returns a new root.
	Pinned [sha256.Size]byte
	Root   []byte // trusted_root.json
}

// trustStore is the directory with the refreshed root and the TUF metadata.
type trustStore struct{ dir string }

func (s trustStore) file() string { return filepath.Join(s.dir, "refreshed.json") }

// cache returns the directory for the TUF metadata.
func (s trustStore) cache() string { return filepath.Join(s.dir, "tuf") }

// load returns the stored root, or nil if there is none.
func (s trustStore) load() (*refreshedRoot, error) {
	data, err := ReadBounded(s.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	stored := &refreshedRoot{}
	if err == nil {
		err = json.Unmarshal(data, stored)
	}
	if err != nil {
		return nil, fmt.Errorf("read refreshed trusted root: %w", err)
	}
	return stored, nil
}

// save replaces the stored root durably.
func (s trustStore) save(r *refreshedRoot) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode refreshed trusted root: %w", err)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("save refreshed trusted root: %w", err)
	}
	if err := durable.Write(s.file(), data, 0o600); err != nil {
		return fmt.Errorf("save refreshed trusted root: %w", err)
	}
	return nil
}
