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

// RewriteNote is a one-shot permission, left in the state directory by whoever administers the agent's host: a named commit may
// become the state although it does not descend from the accepted one. Its signature, signer and target are checked all the same.
type RewriteNote struct {
	Dir string // the state directory
}

const rewriteNoteName = "allow-rewrite"

// Leave writes the note, in place of an older one.
func (n RewriteNote) Leave(id gitsource.ID) error {
	path := n.path()
	if err := os.WriteFile(path+".new", []byte(string(id)+"\n"), 0o600); err != nil {
		return fmt.Errorf("leave rewrite note: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("leave rewrite note: %w", err)
	}
	return nil
}

// read returns the commit that the note names, "" where there is none or the note is not one.
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

// spend removes the note after its commit was accepted.
func (n RewriteNote) spend() error {
	if err := os.Remove(n.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("spend rewrite note: %w", err)
	}
	return nil
}

func (n RewriteNote) path() string { return filepath.Join(n.Dir, rewriteNoteName) }
