package gitsource_test

import (
	"errors"
	"testing"

	"gitops-agent/gitsource"
)

func TestFetchTag(t *testing.T) {
	g := newGit(t)
	first := g.commit(g.files(map[string]string{"a.yaml": "one"}), "first")
	second := g.commit(g.files(map[string]string{"a.yaml": "two"}), "second", first)
	g.run("update-ref", "refs/heads/main", string(first))
	g.run("tag", "-a", "-m", "a release", "v1", string(first))
	g.run("tag", "light", string(first))
	g.run("tag", "-a", "-m", "beside the branch", "v2", string(second))
	dir := t.TempDir()
	s := reopenSource(t, dir, fileRemote(g))
	fetch(t, s, first)
	for name, target := range map[string]gitsource.ID{"v1": first, "light": first, "v2": second} {
		id, err := s.FetchTag(t.Context(), name)
		if err != nil {
			t.Fatalf("FetchTag %s: %v", name, err)
		}
		if want := gitsource.ID(g.run("rev-parse", "refs/tags/"+name)); id != want {
			t.Errorf("got %s for %s, want %s", id, name, want)
		}
		if commit, err := s.Repository().Resolve(t.Context(), name); err != nil || commit != target {
			t.Errorf("got %s, %v for the commit of %s, want %s", commit, err, name, target)
		}
	}
	readable(t, s, first, second)
	fetch(t, s, first) // the branch did not move
	fsck(t, dir)
}

func TestFetchTagRefuses(t *testing.T) {
	g := newGit(t)
	first := g.commit(g.files(map[string]string{"a.yaml": "one"}), "first")
	g.run("update-ref", "refs/heads/main", string(first))
	g.run("update-ref", "refs/tags/tree", string(first)+"^{tree}")
	s := reopenSource(t, t.TempDir(), fileRemote(g))
	fetch(t, s, first)
	if _, err := s.FetchTag(t.Context(), "v9"); !errors.Is(err, gitsource.ErrNotFound) {
		t.Errorf("got %v for a missing tag, want ErrNotFound", err)
	}
	for _, name := range []string{"", "../heads/main", "a..b", "a b"} {
		if _, err := s.FetchTag(t.Context(), name); err == nil {
			t.Errorf("got no error for the tag name %q, want one", name)
		}
	}
	if id, err := s.FetchTag(t.Context(), "tree"); err == nil {
		t.Errorf("got %s for a tag that points at a tree, want an error", id)
	}
}
