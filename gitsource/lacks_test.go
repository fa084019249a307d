package gitsource_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// Each kind of clone that may lack objects is recognised, and a whole one is not.
func TestLacks(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	g.run("config", "uploadpack.allowFilter", "true")
	tree := strings.TrimSpace(g.exec("", "-C", g.dir, "mktree"))
	first := strings.TrimSpace(g.run("commit-tree", "-m", "one", tree))
	g.run("update-ref", "refs/heads/main", strings.TrimSpace(g.run("commit-tree", "-m", "two", "-p", first, tree)))
	for option, want := range map[string]string{
		"--no-tags": "", "--depth=1": "--unshallow", "--shared": "git repack", "--filter=blob:none": "--no-filter",
	} {
		from := "file://" + g.dir
		if option == "--shared" {
			from = g.dir
		}
		dir := filepath.Join(t.TempDir(), "clone")
		g.exec("", "clone", "-q", option, from, dir)
		if got := open(t, dir).Lacks(); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("clone %s: got %q, want %q in it", option, got, want)
		}
	}
}
