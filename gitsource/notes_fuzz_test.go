package gitsource_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gitops-agent/gitsource"
)

// writeLoose stores an object of a repository, also a malformed one, without git.
func writeLoose(t testing.TB, dir, kind string, content []byte) gitsource.ID {
	t.Helper()
	raw := append(fmt.Appendf(nil, "%s %d\x00", kind, len(content)), content...)
	sum := sha1.Sum(raw)
	id := hex.EncodeToString(sum[:])
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, _ = z.Write(raw) // a buffer takes everything
	_ = z.Close()
	file := filepath.Join(dir, "objects", id[:2], id[2:])
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return gitsource.ID(id)
}

// FuzzNotes: whatever the trees of notes are, a note is found only where git looks for it: in an entry for a file with the name of the object, or in
// folders of its first digits.
func FuzzNotes(f *testing.F) {
	const about = gitsource.ID("0123456789abcdef0123456789abcdef01234567")
	note := []byte("a note")
	blobOf := func(t testing.TB, dir string) []byte { return unhex(t, string(writeLoose(t, dir, "blob", note))) }
	entry := func(mode, name string, id []byte) []byte { return append([]byte(mode+" "+name+"\x00"), id...) }
	dir := f.TempDir()
	for _, sub := range []string{"objects", "refs/notes", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			f.Fatal(err)
		}
	}
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	blob := blobOf(f, dir)
	whole, rest := entry("100644", string(about), blob), entry("100644", string(about[2:]), blob)
	folder := entry("40000", string(about[:2]), unhex(f, string(writeLoose(f, dir, "tree", rest))))
	f.Add(whole, rest)
	f.Add(folder, rest)
	f.Add(entry("120000", string(about), blob), rest)
	f.Add(entry("40000", string(about), blob), rest)
	f.Add(append(bytes.Clone(folder), whole...), rest)
	f.Add(append(bytes.Clone(whole), whole...), rest)
	f.Add([]byte("100644 x"), []byte{})
	f.Fuzz(func(t *testing.T, root, inner []byte) {
		if len(root)+len(inner) > 1<<16 {
			return
		}
		writeLoose(t, dir, "tree", inner)
		tree := writeLoose(t, dir, "tree", root)
		commit := writeLoose(t, dir, "commit", fmt.Appendf(nil, "tree %s\nauthor A <a> 0 +0000\ncommitter A <a> 0 +0000\n\n", tree))
		if err := os.WriteFile(filepath.Join(dir, "refs", "notes", "fuzz"), []byte(commit+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		repo, err := gitsource.OpenRepository(dir)
		if err != nil {
			t.Fatal(err)
		}
		notes, err := repo.Notes(t.Context(), "refs/notes/fuzz")
		if err != nil {
			t.Fatalf("open notes: %v", err)
		}
		got, err := notes.About(t.Context(), about, 100)
		again, errAgain := notes.About(t.Context(), about, 100) // from what was remembered
		if !bytes.Equal(got, again) || (err == nil) != (errAgain == nil) {
			t.Errorf("got %q, %v and then %q, %v", got, err, again, errAgain)
		}
		found := bytes.Contains(root, entry("100644", string(about), nil)) ||
			bytes.Contains(root, entry("40000", string(about[:2]), nil))
		if err == nil && !found {
			t.Errorf("got the note %q of %q, which names no such object", got, root)
		}
	})
}
