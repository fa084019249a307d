package gitsource_test

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gitops-agent/gitsource"
)

func TestResolve(t *testing.T) {
	g := newGit(t)
	ids := g.history("main", 5)
	tip := ids[4]
	tree := g.files(map[string]string{"a": "1"})
	merge := g.commit(tree, "merge", tip, ids[1])
	g.push("feature/x", merge)
	g.run("update-ref", "refs/remotes/origin/main", string(ids[3]))
	g.run("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
	g.run("tag", "light", string(ids[0]))
	g.run("tag", "-m", "m", "v1", string(ids[1]))
	tag := gitsource.ID(g.run("rev-parse", "v1"))
	g.run("tag", "-m", "m", "nested", "v1")
	g.push("cafe", ids[2])
	g.push(string(tip[:8]), ids[0]) // the name of a branch may look like an abbreviated id
	check := func(t *testing.T, rev string, want gitsource.ID) {
		t.Helper()
		got, err := open(t, g.dir).Resolve(t.Context(), rev)
		if err != nil || got != want {
			t.Errorf("Resolve(%q): got %s, %v, want %s", rev, got, err, want)
		}
	}
	for rev, want := range map[string]gitsource.ID{
		string(tip): tip, string(tip[:12]): tip, string(tip[:11]): tip, strings.ToUpper(string(tip[:9])): tip,
		"HEAD": tip, "@": tip, "HEAD~3": ids[1], "HEAD~": ids[3], "@~1~1": ids[2], "HEAD^": ids[3], "HEAD^^": ids[2],
		"main": tip, "heads/main": tip, "refs/heads/main": tip, "feature/x": merge, "feature/x^2": ids[1],
		"feature/x^1~2": ids[2], "feature/x^0": merge, "origin/main": ids[3], "origin": ids[3],
		"light": ids[0], "v1": ids[1], "v1~1": ids[0], "v1^{commit}": ids[1], "v1^{}": ids[1],
		"v1^{tag}": tag, string(tag): ids[1], "nested": ids[1], "cafe": ids[2], string(tip[:8]): ids[0],
		string(tag[:10]): ids[1],
	} {
		check(t, rev, want)
	}
	g.run("pack-refs", "--all")
	g.run("repack", "-adq")
	for rev, want := range map[string]gitsource.ID{"main": tip, "v1": ids[1], string(tip[:13]): tip, "HEAD": tip} {
		check(t, rev, want)
	}
}

func TestResolveRefuses(t *testing.T) {
	g := newGit(t)
	ids := g.history("main", 2)
	tree := treeOf(t.Context(), t, open(t, g.dir), ids[1])
	g.run("update-ref", "refs/tags/tree", string(tree))
	for rev, want := range map[string]string{
		"absent": "object not found", "HEAD~2": "no parent 1", "HEAD^2": "no parent 2", "HEAD^{tree}": "want ~N",
		"HEAD~x": "want ~N", strings.Repeat("ab", 20): "object not found", "abab": "object not found",
		"tree": "object not found", "config": "object not found", "../HEAD": "object not found", "": "object not found",
		"main^{tag}": "object not found", "HEAD~99999999999999999999": "out of range",
	} {
		_, err := open(t, g.dir).Resolve(t.Context(), rev)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Resolve(%q): got %v, want %q", rev, err, want)
		}
	}
	if _, err := open(t, g.dir).Resolve(t.Context(), "absent"); !errors.Is(err, gitsource.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

// TestResolveAmbiguous makes commits until two of them share their first four digits.
func TestResolveAmbiguous(t *testing.T) {
	g := newGit(t)
	tree := g.files(map[string]string{"a": "1"})
	seen := map[string]string{}
	for i := range 5000 {
		raw := fmt.Sprintf("tree %s\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\n%d", tree, i)
		prefix := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "commit %d\x00%s", len(raw), raw)))[:4]
		if other, ok := seen[prefix]; ok {
			g.object("commit", []byte(raw))
			g.object("commit", []byte(other))
			_, err := open(t, g.dir).Resolve(t.Context(), prefix)
			if err == nil || !strings.Contains(err.Error(), "ambiguous") {
				t.Errorf("Resolve(%s): got %v, want an error about an ambiguous id", prefix, err)
			}
			return
		}
		seen[prefix] = raw
	}
	t.Fatal("no two of 5000 commits share four digits")
}

// A name can be that of several refs. They are in the order of git, in which a tag precedes a branch.
func TestRefs(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	ids := g.history("main", 1)
	g.push("v1", ids[0])
	g.push("only", ids[0])
	g.run("tag", "v1", string(ids[0]))
	g.run("pack-refs", "--all")
	repo := open(t, g.dir)
	for rev, want := range map[string][]string{
		"v1": {"refs/tags/v1", "refs/heads/v1"}, "v1^{tag}": {"refs/tags/v1", "refs/heads/v1"}, "heads/v1": {"refs/heads/v1"},
		"only~3": {"refs/heads/only"}, "@": {"HEAD"}, "nothing": nil, "config": nil, string(ids[0]): nil, "": nil,
	} {
		if got, err := repo.Refs(rev); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q and %v, want %q", rev, got, err, want)
		}
	}
}
