package intake

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/gitsource"
)

const someCommit = "0123456789abcdef0123456789abcdef01234567"

func TestRewriteNote(t *testing.T) {
	const first, second = gitsource.ID(someCommit), gitsource.ID("89abcdef0123456789abcdef0123456789abcdef")
	note := RewriteNote{Dir: t.TempDir()}
	if got := note.read(); got != "" {
		t.Errorf("got %q before any note was left, want none", got)
	}
	for _, id := range []gitsource.ID{first, second} {
		if err := note.Write(id); err != nil {
			t.Fatal(err)
		}
		if got := note.read(); got != id {
			t.Errorf("got %q, want %q", got, id)
		}
	}
	for range 2 { // the second time there is nothing to remove
		if err := note.remove(); err != nil {
			t.Fatal(err)
		}
		if got := note.read(); got != "" {
			t.Errorf("got %q after it was spent, want none", got)
		}
	}
	if entries, err := os.ReadDir(note.Dir); err != nil || len(entries) != 0 {
		t.Errorf("got %v, %v left in the state directory, want nothing", entries, err)
	}
}

// TestRewriteNoteRejectsOtherContent checks that a note is a file of its own that contains only a full commit id.
func TestRewriteNoteRejectsOtherContent(t *testing.T) {
	for name, write := range map[string]func(path string) error{
		"short_id":  func(p string) error { return os.WriteFile(p, []byte(someCommit[:12]), 0o600) },
		"branch":    func(p string) error { return os.WriteFile(p, []byte("main"), 0o600) },
		"empty":     func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"two_lines": func(p string) error { return os.WriteFile(p, []byte(someCommit+"\n"+someCommit+"\n"), 0o600) },
		"large":     func(p string) error { return os.WriteFile(p, []byte(someCommit+strings.Repeat("\n", 1<<20)), 0o600) },
		"folder":    func(p string) error { return os.Mkdir(p, 0o700) },
		"symlink": func(p string) error {
			if err := os.WriteFile(p+".target", []byte(someCommit), 0o600); err != nil {
				return err
			}
			return os.Symlink(filepath.Base(p)+".target", p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			note := RewriteNote{Dir: t.TempDir()}
			if err := write(note.file().Path()); err != nil {
				t.Fatal(err)
			}
			if got := note.read(); got != "" {
				t.Errorf("got %q, want no note", got)
			}
		})
	}
	if err := (RewriteNote{Dir: filepath.Join(t.TempDir(), "gone")}).Write(someCommit); err == nil {
		t.Error("got no error from a missing state directory, want one")
	}
	t.Chdir(t.TempDir())
	note := (RewriteNote{}).file()
	if err := os.WriteFile(note.Path(), []byte(someCommit), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := (RewriteNote{}).read(); got != "" {
		t.Errorf("got %q from the working directory, want the zero note to read no file", got)
	}
}
