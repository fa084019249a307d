package intake

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gitops-agent/gitsource"
)

// RewriteNote is a one-shot permission. The administrator of the agent's host writes it to the state directory. The named commit may be
// accepted although it does not descend from the accepted commit. Its signature, signer and target are checked as usual.
type RewriteNote struct {
	Dir string // the state directory
}

const rewriteNoteName = "allow-rewrite"

// Write writes the note. It replaces an older note.
func (n RewriteNote) Write(id gitsource.ID) error {
	path := n.path()
	if err := os.WriteFile(path+".new", []byte(string(id)+"\n"), 0o600); err != nil {
		return fmt.Errorf("leave rewrite note: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("leave rewrite note: %w", err)
	}
	return nil
}

// read returns the commit that the note names, or "" if there is no note or the note is malformed.
func (n RewriteNote) read() gitsource.ID {
	if n.Dir == "" {
		return ""
	}
	info, err := os.Lstat(n.path())
	if err != nil || !info.Mode().IsRegular() || info.Size() > 64 {
		return ""
	}
	text, err := os.ReadFile(n.path())
	if err != nil {
		return ""
	}
	id, err := gitsource.ParseID(strings.TrimSpace(string(text)))
	if err != nil {
		return ""
	}
	return id
}

// remove removes the note after its commit was accepted.
func (n RewriteNote) remove() error {
	if err := os.Remove(n.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove rewrite note: %w", err)
	}
	return nil
}

func (n RewriteNote) path() string { return filepath.Join(n.Dir, rewriteNoteName) }
