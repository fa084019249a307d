package gitsource_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/internal/gittest"
)

const evidenceNotes = "refs/notes/evidence"

// noteOf returns a note of the store.
func noteOf(t *testing.T, s *gitsource.Source, about gitsource.ID, limit int64) ([]byte, error) {
	t.Helper()
	notes, err := s.Repository().Notes(t.Context(), evidenceNotes)
	if err != nil {
		return nil, err
	}
	return notes.About(t.Context(), about, limit)
}

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
	if _, err := s.Repository().Notes(t.Context(), evidenceNotes); !errors.Is(err, gitsource.ErrNotFound) {
		t.Errorf("got %v before the notes were fetched, want ErrNotFound", err)
	}
	want := func(id gitsource.ID, text string) {
		t.Helper()
		if err := s.FetchNotes(t.Context(), evidenceNotes); err != nil {
			t.Fatal(err)
		}
		got, err := noteOf(t, s, id, 100)
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
	if _, err := noteOf(t, s, first, 3); !errors.Is(err, gitsource.ErrTooLarge) {
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
	if _, err := s.Repository().Notes(t.Context(), "refs/heads/main"); err == nil {
		t.Error("got notes from a branch, want an error")
	}
	fetch(t, s, first) // the store is still good
}

// TestFetchReportsNotes: a fetch of the branch says where the notes are at the remote, and fetches nothing of them.
func TestFetchReportsNotes(t *testing.T) {
	g := newGit(t)
	first := g.commit(g.files(map[string]string{"a.yaml": "one"}), "first")
	g.run("update-ref", "refs/heads/main", string(first))
	s, err := gitsource.Open(gitsource.Options{Dir: t.TempDir(), Branch: "main", Remotes: []gitsource.Remote{fileRemote(g)}, Notes: evidenceNotes})
	if err != nil {
		t.Fatal(err)
	}
	want := func(notes gitsource.ID) {
		t.Helper()
		head, err := s.Fetch(t.Context())
		if err != nil || head.Notes != notes {
			t.Fatalf("got notes %q, %v, want %q", head.Notes, err, notes)
		}
		if _, err := s.Repository().Notes(t.Context(), evidenceNotes); !errors.Is(err, gitsource.ErrNotFound) {
			t.Errorf("got %v, want no notes in the store", err)
		}
	}
	want("")
	g.run("notes", "--ref", evidenceNotes, "add", "-m", "one", string(first))
	want(gitsource.ID(g.run("rev-parse", evidenceNotes)))
}

// TestHostileNotes: notes that no git writes are an error at most. The branch is still fetched, and the store counts as whole.
func TestHostileNotes(t *testing.T) {
	g := newGit(t)
	first := g.commit(g.files(map[string]string{"a.yaml": "one"}), "first")
	g.run("update-ref", "refs/heads/main", string(first))
	about, blob := string(first), string(g.blob("note"))
	for name, tree := range map[string]gitsource.ID{
		"note_is_a_tree":          g.tree([3]string{"40000", about, string(g.files(map[string]string{"a": "b"}))}),
		"folder_is_a_note":        g.tree([3]string{"40000", about[:2], blob}),
		"folder_is_a_commit":      g.tree([3]string{"160000", about[:2], about}),
		"note_is_a_link":          g.tree([3]string{"120000", about, blob}),
		"strange_mode":            g.tree([3]string{"100664", about, blob}),
		"entry_twice":             g.tree([3]string{"100644", about, blob}, [3]string{"100644", about, blob}),
		"no_notes_of_this_commit": g.files(map[string]string{"readme": "none"}),
	} {
		t.Run(name, func(t *testing.T) {
			s := reopenSource(t, t.TempDir(), fileRemote(g))
			fetch(t, s, first)
			g.run("update-ref", evidenceNotes, string(g.commit(tree, "notes")))
			for range 2 {
				if err := s.FetchNotes(t.Context(), evidenceNotes); err != nil {
					t.Log(err)
				}
				if note, err := noteOf(t, s, first, 100); err == nil {
					t.Errorf("got %q, want an error", note)
				}
				fetch(t, s, first)
			}
			if _, err := s.Repository().Commit(t.Context(), first); err != nil {
				t.Error(err)
			}
		})
	}
}

// A countWriter replaces the number of objects in the header of the packs that go through it, unless the number is 0.
type countWriter struct {
	io.Writer
	count *atomic.Uint32
}

// Write writes one packet of the protocol.
func (w countWriter) Write(packet []byte) (int, error) {
	if at := bytes.Index(packet, []byte("PACK\x00\x00\x00\x02")); at >= 0 && w.count.Load() > 0 {
		packet = slices.Clone(packet)
		binary.BigEndian.PutUint32(packet[at+8:], w.count.Load())
	}
	return w.Writer.Write(packet) //nolint:wrapcheck // the caller wraps it
}

// TestNotesAreBounded: notes with more than 200,000 objects are refused by what their pack says, and nothing of them is stored. With one object less the pack is read,
// and found to be cut.
func TestNotesAreBounded(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	first := g.commit(g.files(map[string]string{"a.yaml": "one"}), "first")
	g.run("update-ref", "refs/heads/main", string(first))
	g.run("update-ref", evidenceNotes, string(g.commit(g.files(map[string]string{"b.yaml": "two"}), "notes")))
	var count atomic.Uint32
	dir := t.TempDir()
	start := func() *gitsource.Source {
		s, err := gitsource.Open(gitsource.Options{
			Dir: dir, Branch: "main", Remotes: []gitsource.Remote{fileRemote(g)},
			UploadPack: func(ctx context.Context, dir string, in io.Reader, out io.Writer) error {
				return gittest.UploadPack(ctx, dir, in, countWriter{out, &count})
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := start()
	fetch(t, s, first)
	for _, n := range []uint32{200_000, 200_001} {
		tooLarge := n > 200_000
		count.Store(n)
		if err := s.FetchNotes(t.Context(), evidenceNotes); err == nil || errors.Is(err, gitsource.ErrTooLarge) != tooLarge {
			t.Errorf("%d objects: got %v, want an error that is ErrTooLarge: %t", n, err, tooLarge)
		}
		if _, err := s.Repository().Notes(t.Context(), evidenceNotes); !errors.Is(err, gitsource.ErrNotFound) {
			t.Errorf("%d objects: got %v, want no notes", n, err)
		}
	}
	fetch(t, s, first)
	count.Store(0)
	s = start() // a pack above a limit is remembered until the ref moves
	if err := s.FetchNotes(t.Context(), evidenceNotes); err != nil {
		t.Errorf("got %v, want the notes fetched when the pack is whole", err)
	}
}
