package adoption

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/manifest"
)

// writeGuest writes the manifest of a guest to its file and returns the path.
func (a *adopter) writeGuest(adopted manifest.Adopted) (string, error) {
	return a.write(string(adopted.Kind)+"-"+adopted.Name, adopted.Data)
}

// write writes a manifest to its file and returns the path, or "" without a directory. The file is complete or does not exist.
func (a *adopter) write(name string, data []byte) (string, error) {
	if a.opts.Dir == "" {
		return "", nil
	}
	if err := os.MkdirAll(a.opts.Dir, 0o755); err != nil { //nolint:gosec // a working copy, which other users of the host may read
		return "", fmt.Errorf("could not be written: %w", err)
	}
	path := filepath.Join(a.opts.Dir, strings.ToLower(name+".yaml"))
	err := writeAtomically(path, data, a.opts.Force)
	if errors.Is(err, fs.ErrExist) {
		return "", term.WithHint(fmt.Errorf("would be written to %s, which exists", path), "--force overwrites it")
	}
	if err != nil {
		return "", fmt.Errorf("could not be written: %w", err)
	}
	return path, nil
}

// writeAtomically writes a temporary file beside path and moves it to path. If path exists, it replaces the file if overwrite is set, and
// returns fs.ErrExist otherwise.
func writeAtomically(path string, data []byte, overwrite bool) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".adopt-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // does nothing after a rename
	_, err = io.Copy(file, bytes.NewReader(data))
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close()) // git and editors read it
	switch {
	case err != nil:
		return err
	case overwrite:
		return os.Rename(file.Name(), path)
	default:
		return os.Link(file.Name(), path)
	}
}
