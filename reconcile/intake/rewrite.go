package intake

import (
	"fmt"
	"strings"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/hostfile"
)

// RewriteNote is a one-shot permission. The administrator of the agent's host writes it to the state directory. The named commit may be
// accepted although it does not descend from the accepted commit. Its signature, signer and target are checked as usual.
type RewriteNote struct {
	Dir string // the state directory
}

// Write writes the note. It replaces an older note.
func (n RewriteNote) Write(id gitsource.ID) error {
	if err := n.file().Write([]byte(string(id) + "\n")); err != nil {
		return fmt.Errorf("leave rewrite note: %w", err)
	}
	return nil
}

// read returns the commit that the note names, or "" if there is no note or the note is malformed.
func (n RewriteNote) read() gitsource.ID {
	if n.Dir == "" {
		return ""
	}
	text, err := n.file().Read()
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
	if _, err := n.file().Remove(); err != nil {
		return fmt.Errorf("remove rewrite note: %w", err)
	}
	return nil
}

func (n RewriteNote) file() hostfile.File {
	return hostfile.File{Dir: n.Dir, Name: hostfile.AllowRewrite}
}
