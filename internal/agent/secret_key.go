package agent

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"gitops-agent/internal/durable"
)

// secretKeyFile is the file with the key, in the state directory.
const secretKeyFile = "secrets.key"

// secretKeySize is the size of the key for fingerprints and salts of secrets, in bytes.
const secretKeySize = 32

// secretKey returns the key in the state directory, and creates the key if there is none. Without the key, the fingerprints in the journal
// are useless, so a new key is durable before it is used.
func secretKey(stateDir string) ([]byte, error) {
	path := filepath.Join(stateDir, secretKeyFile)
	if err := checkPrivate("key of secrets", path); err != nil {
		return nil, err
	}
	key, err := os.ReadFile(path) //nolint:gosec // the operator chooses the path
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return newSecretKey(path)
	case err != nil:
		return nil, fmt.Errorf("read key of secrets: %w", err)
	case len(key) != secretKeySize:
		return nil, fmt.Errorf("read key of secrets: %s has %d bytes, want %d: restore it from a backup, or remove it; without it the agent writes every password again",
			path, len(key), secretKeySize)
	}
	return key, nil
}

func newSecretKey(path string) ([]byte, error) {
	key := make([]byte, secretKeySize)
	_, _ = rand.Read(key) // according to its documentation, it never fails
	err := durable.Write(path, key, 0o600)
	if errors.Is(err, syscall.EROFS) {
		return key, nil // the journal takes no records either, so no fingerprint of this key becomes durable
	}
	if err != nil {
		return nil, fmt.Errorf("create key of secrets: %w", err)
	}
	return key, nil
}
