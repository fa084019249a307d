package gitsource_test

import (
	"errors"
	"strings"
	"testing"

	"gitops-agent/gitsource"
)

const evidenceNotes = "refs/notes/evidence"

// TestNotes fetches notes, also after they have changed, and reads those of single commits, also when git has split them into folders.
func TestNotes(t *testing.T) {
	g := newGit(t)
	tree := g.files(map[string]string{"a.yaml": "one"})
	first := g.commit(tree, "first")
	second := g.commit(tree, "second", first)
	g.run("update-ref", "refs/heads/main", string(second))
	g.run("notes", "--ref", evidenceNotes, "add", "-m", "of the first", string(first))
	dir := t.TempDir()
	s := reopenSource(t, dir, fileRemote(g))
	fetch(t, s, second)
	if _, err := s.Repository().Note(t.Context(), evidenceNotes, first, 100); !errors.Is(err, gitsource.ErrNotFound) {
		t.Errorf("got %v before the notes were fetched, want ErrNotFound", err)
	}
	want := func(id gitsource.ID, text string) {
		t.Helper()
		if err := s.FetchNotes(t.Context(), evidenceNotes); err != nil {
			t.Fatal(err)
		}
		got, err := s.Repository().Note(t.Context(), evidenceNotes, id, 100)
		if text == "" {
			if !errors.Is(err, gitsource.ErrNotFound) {
				t.Errorf("got %q and %v, want ErrNotFound", got, err)
			}
			return
		}
		if err != nil || strings.TrimSpace(string(got)) != text {
			t.Errorf("got %q and %v, want %q", got, err, text)
		}
	}
	want(first, "of the first")
	want(second, "")
	g.run("notes", "--ref", evidenceNotes, "add", "-m", "of the second", string(second))
	want(second, "of the second")
	for range 300 { // git uses folders for many notes
		second = g.commit(tree, "more", second)
		g.run("notes", "--ref", evidenceNotes, "add", "-m", "of many", string(second))
	}
	want(second, "of many")
	want(first, "of the first")
	if _, err := s.Repository().Note(t.Context(), evidenceNotes, first, 3); !errors.Is(err, gitsource.ErrTooLarge) {
		t.Errorf("got %v of a note above the limit, want ErrTooLarge", err)
	}
	g.run("update-ref", evidenceNotes, string(first)) // no notes at all
	want(first, "")
	fsck(t, dir)
}

func TestNotesRefuses(t *testing.T) {
	g := newGit(t)
	first := g.commit(g.files(map[string]string{"a.yaml": "one"}), "first")
	g.run("update-ref", "refs/heads/main", string(first))
	g.run("update-ref", "refs/notes/tree", string(first)+"^{tree}")
	s := reopenSource(t, t.TempDir(), fileRemote(g))
	fetch(t, s, first)
	if err := s.FetchNotes(t.Context(), evidenceNotes); !errors.Is(err, gitsource.ErrNotFound) {
		t.Errorf("got %v of missing notes, want ErrNotFound", err)
	}
	for _, ref := range []string{"", "refs/heads/main", "refs/notes/../heads/main", "refs/notes/a b", "refs/notes/tree"} {
		if err := s.FetchNotes(t.Context(), ref); err == nil {
			t.Errorf("got no error for %q, want one", ref)
		}
	}
	if _, err := s.Repository().Note(t.Context(), "refs/heads/main", first, 100); err == nil {
		t.Error("got a note from a branch, want an error")
	}
	fetch(t, s, first) // the store is still good
}
