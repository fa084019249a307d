package sigtest_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/sigtest"
)

func BenchmarkCommit(b *testing.B) {
	for _, kind := range []sigtest.KeyType{sigtest.P384, sigtest.P256} {
		b.Run(string(kind), func(b *testing.B) {
			s, err := sigtest.New(sigtest.Options{CAKey: kind})
			if err != nil {
				b.Fatalf("make Sigstore: %v", err)
			}
			for b.Loop() {
				if _, _, err := s.Commit(sigtest.CommitSpec{Message: "scale web"}, alice, sigtest.SignOptions{At: noon}); err != nil {
					b.Fatalf("sign: %v", err)
				}
			}
		})
	}
}

// TestObjectsMatchGit has git store the objects of this package, and compares git's id and form of them.
func TestObjectsMatchGit(t *testing.T) {
	r := newRepository(t)
	s := newSigstore(t, "home")
	r.git("", "hash-object", "-t", "tree", "-w", "--stdin") // the empty tree
	when := time.Date(2026, time.March, 1, 8, 0, 0, 0, time.FixedZone("", 2*60*60))
	opts := sigtest.SignOptions{At: noon}
	var parents []string
	for name, spec := range map[string]sigtest.CommitSpec{
		"plain":   {Message: "plain\n\nBody.\n"},
		"headers": {Message: "caf\xe9", Headers: []sigtest.Header{{Name: "encoding", Value: "ISO-8859-1"}}},
		"persons": {Message: "x", Author: sigtest.Person{Name: "Bob", Email: "bob@example.org", When: when}, Committer: sigtest.Person{When: when}},
		"empty":   {},
	} {
		raw, id, err := s.Commit(spec, alice, opts)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r.store(name, "commit", raw, id)
		parents = append(parents, id)
	}
	raw, id, err := s.Commit(sigtest.CommitSpec{Parents: parents[:2], Message: "merge"}, alice, opts)
	if err != nil {
		t.Fatalf("merge: %v", err)
	}
	r.store("merge", "commit", raw, id)
	if got := strings.Fields(r.git("", "rev-list", "--parents", "-n1", id)); len(got) != 3 {
		t.Errorf("got parents %v, want two", got[1:])
	}
	if got, want := r.git("", "log", "-n1", "--format=%an %ae %cI %B", id), "Alice alice@example.org 2026-03-22T12:00:00+00:00 merge\n\n"; got != want {
		t.Errorf("got log %q, want %q", got, want)
	}
	raw, id, err = s.Tag(sigtest.TagSpec{Object: id, Name: "v1", Message: "release"}, alice, opts)
	if err != nil {
		t.Fatalf("tag: %v", err)
	}
	r.store("tag", "tag", raw, id)
	r.git("", "fsck", "--strict")
}

func (r repository) store(name, kind string, raw []byte, id string) {
	r.t.Helper()
	if got := strings.TrimSpace(r.git(string(raw), "hash-object", "-t", kind, "-w", "--stdin")); got != id {
		r.t.Errorf("%s: got id %s, want git's %s", name, id, got)
	}
}

func TestAttachToCommit(t *testing.T) {
	got, err := sigtest.AttachToCommit([]byte("tree x\nauthor y\n\nmessage\n\nbody\n"), []byte("BEGIN\nabc\nEND\n"))
	if err != nil {
		t.Fatalf("attach: %v", err)
	}
	if want := "tree x\nauthor y\ngpgsig BEGIN\n abc\n END\n\nmessage\n\nbody\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := sigtest.AttachToCommit([]byte("tree x\n"), []byte("BEGIN")); err == nil {
		t.Errorf("commit without end of headers: got no error, want one")
	}
}
