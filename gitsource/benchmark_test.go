package gitsource_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/gitsource"
)

// bigHistory makes a repository of 200 files and 2000 commits, each of which changes one file, with git fast-import.
func bigHistory(b *testing.B) git {
	b.Helper()
	g := newGit(b)
	var stream strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 2\nm\n", 1700000000+i)
		text := fmt.Sprintf("name: web-%d\nmemory: %d\n%s", i%200, i, strings.Repeat("# a comment line\n", 20))
		fmt.Fprintf(&stream, "M 100644 inline guests/%d/web-%d.yaml\ndata %d\n%s\n", i%20, i%200, len(text), text)
	}
	g.exec(stream.String(), "--git-dir", g.dir, "fast-import", "--quiet")
	g.run("repack", "-adq")
	return g
}

func benchSource(b *testing.B, g git) *gitsource.Source {
	b.Helper()
	s, err := gitsource.Open(gitsource.Options{
		Dir: filepath.Join(b.TempDir(), "store"), Branch: "main", Remotes: []gitsource.Remote{fileRemote(g)},
	})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkClone2000Commits(b *testing.B) {
	g := bigHistory(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := benchSource(b, g).Fetch(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFetchWithoutNewCommits(b *testing.B) {
	s := benchSource(b, bigHistory(b))
	if _, err := s.Fetch(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Fetch(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadCommit(b *testing.B) {
	g := bigHistory(b)
	ids := strings.Fields(g.run("rev-list", "main"))
	repo := open(b, g.dir)
	i := 0
	for b.Loop() {
		if _, err := repo.Commit(b.Context(), gitsource.ID(ids[i%len(ids)])); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkFiles200(b *testing.B) {
	g := bigHistory(b)
	repo := open(b, g.dir)
	tree := gitsource.ID(g.run("rev-parse", "main^{tree}"))
	for b.Loop() {
		files, err := repo.Files(b.Context(), tree, gitsource.TreeOptions{Paths: []string{"guests"}})
		if err != nil || len(files) != 200 {
			b.Fatalf("got %d files, %v", len(files), err)
		}
	}
}
