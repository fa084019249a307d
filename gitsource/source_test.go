package gitsource_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitops-agent/gitsource"
)

// openSource opens a Source of remotes with a new store.
func openSource(t testing.TB, remotes ...gitsource.Remote) (*gitsource.Source, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	return reopenSource(t, dir, remotes...), dir
}

func reopenSource(t testing.TB, dir string, remotes ...gitsource.Remote) *gitsource.Source {
	t.Helper()
	s, err := gitsource.Open(gitsource.Options{Dir: dir, Branch: "main", Remotes: remotes, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

func fileRemote(g git) gitsource.Remote { return gitsource.Remote{URL: "file://" + g.dir} }

// fetch fetches and expects the last commit of history as the tip, and every commit of history to be readable.
func fetch(t testing.TB, s *gitsource.Source, history ...gitsource.ID) {
	t.Helper()
	head, err := s.Fetch(t.Context())
	if err != nil {
		t.Fatalf("Fetch: %v", err)
	}
	if tip := history[len(history)-1]; head.Commit != tip {
		t.Fatalf("Fetch: got %s, want %s", head.Commit, tip)
	}
	readable(t, s, history...)
}

// readable expects the commits of history to be readable with their trees and files.
func readable(t testing.TB, s *gitsource.Source, history ...gitsource.ID) {
	t.Helper()
	repo := s.Repository()
	for _, id := range history {
		files, err := repo.Files(t.Context(), treeOf(t.Context(), t, repo, id), gitsource.TreeOptions{})
		if err != nil || len(files) == 0 {
			t.Fatalf("commit %s: got %d files, %v", id, len(files), err)
		}
	}
}

// fsck checks the whole store with git fsck.
func fsck(t testing.TB, dir string) {
	t.Helper()
	g := git{t, dir}
	if out := g.run("fsck", "--full", "--strict", "--no-dangling"); out != "" {
		t.Errorf("git fsck: %s", out)
	}
}

func TestFetchFollowsTheBranch(t *testing.T) {
	t.Parallel()
	for name, commits := range map[string]int{"one_by_one": 3, "as_a_pack": 120} {
		t.Run(name, func(t *testing.T) {
			g := newGit(t)
			first := g.history("main", commits)
			s, dir := openSource(t, fileRemote(g))
			fetch(t, s, first...)
			fetch(t, s, first...) // no new commits

			next := g.commit(g.files(map[string]string{"new.yaml": "x"}), "next", first[len(first)-1])
			g.push("main", next)
			fetch(t, s, next)

			forced := g.commit(g.files(map[string]string{"forced.yaml": "x"}), "forced", first[0])
			g.push("main", forced)
			fetch(t, s, forced)
			readable(t, s, next)

			g.push("main", first[1]) // backwards, to a commit that the store has
			fetch(t, s, first[1])
			fsck(t, dir)

			s = reopenSource(t, dir, fileRemote(g))
			readable(t, s, first...)
			readable(t, s, next, forced)
			fetch(t, s, first[1])
			id, err := s.Repository().Resolve(t.Context(), "main")
			if err != nil || id != first[1] {
				t.Errorf("Resolve(main): got %s, %v, want %s", id, err, first[1])
			}
		})
	}
}

// TestFetchTransfersOnlyNewObjects counts the new objects: the store writes each one to a separate file.
func TestFetchTransfersOnlyNewObjects(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	history := g.history("main", 120)
	s, dir := openSource(t, fileRemote(g))
	fetch(t, s, history...)
	for i := range 3 {
		tip := g.commit(g.files(map[string]string{"f.yaml": fmt.Sprint(i)}), "more", history[len(history)-1])
		history = append(history, tip)
		g.push("main", tip)
		fetch(t, s, tip)
	}
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*"))
	if err != nil || len(packs) != 2 {
		t.Errorf("packs: got %q, %v, want one pack and its index", packs, err)
	}
	if loose := looseObjects(t, dir); loose != 9 {
		t.Errorf("loose objects: got %d, want 3 commits, 3 trees, 3 files", loose)
	}
}

func looseObjects(t *testing.T, dir string) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "objects", "??", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func TestFetchOneBranchAndNoTags(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 2)
	side := g.commit(g.files(map[string]string{"side.yaml": "x"}), "side", history[1])
	g.push("side", side)
	g.run("tag", "-m", "m", "v1", string(history[0]))
	s, dir := openSource(t, fileRemote(g))
	fetch(t, s, history...)
	if _, err := s.Repository().Commit(t.Context(), side); !errors.Is(err, gitsource.ErrNotFound) {
		t.Errorf("commit of another branch: got %v, want ErrNotFound", err)
	}
	refs := git{t, dir}.run("for-each-ref", "--format=%(refname)")
	if want := "refs/heads/main"; refs != want {
		t.Errorf("refs: got %q, want %q", refs, want)
	}
}

func TestFetchErrors(t *testing.T) {
	empty, other, sha256 := newGit(t), newGit(t), newGit(t, "--object-format=sha256")
	other.history("trunk", 1)
	blob := sha256.exec("x", "--git-dir", sha256.dir, "hash-object", "-w", "--stdin")
	tree := sha256.exec("100644 blob "+blob+"\tx\n", "--git-dir", sha256.dir, "mktree")
	sha256.push("main", gitsource.ID(sha256.run("commit-tree", tree, "-m", "m")))
	notACommit := newGit(t)
	notACommit.history("main", 1)
	packed := filepath.Join(notACommit.dir, "refs", "heads", "main")
	if err := os.WriteFile(packed, []byte(string(notACommit.blob("x"))+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ url, want string }{
		"empty":          {"file://" + empty.dir, "empty"},
		"branch_missing": {"file://" + other.dir, `no branch "main": it has trunk`},
		"sha256":         {"file://" + sha256.dir, "SHA-256"},
		"no_repository":  {"file://" + t.TempDir(), "does not appear to be a git repository"},
		"nothing_there":  {"file:///nonexistent/repo.git", "/nonexistent/repo.git"},
		"not_a_commit":   {"file://" + notACommit.dir, "the remote sent no such commit"},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := openSource(t, gitsource.Remote{URL: test.url})
			_, err := s.Fetch(t.Context())
			var remote *gitsource.RemoteError
			if !errors.Is(err, gitsource.ErrUnreachable) || !errors.As(err, &remote) {
				t.Fatalf("got %v, want a RemoteError", err)
			}
			if remote.Remote != test.url || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q on one line", err, test.want)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*")); err != nil || len(left) != 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
		})
	}
}

func TestFetchFallsBack(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 2)
	s, _ := openSource(t, gitsource.Remote{URL: "file:///nonexistent/a.git"}, fileRemote(g))
	head, err := s.Fetch(t.Context())
	if err != nil || head.Commit != history[1] || head.Remote != "file://"+g.dir {
		t.Errorf("got %+v, %v, want %s from the second remote", head, err, history[1])
	}
	s, _ = openSource(t, gitsource.Remote{URL: "file:///nonexistent/a.git"}, gitsource.Remote{URL: "file:///nonexistent/b.git"})
	_, err = s.Fetch(t.Context())
	if !errors.Is(err, gitsource.ErrUnreachable) || !strings.Contains(err.Error(), "a.git") || !strings.Contains(err.Error(), "b.git") {
		t.Errorf("got %v, want both remotes named", err)
	}
}

func TestFetchIsBounded(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 120)
	for limit, want := range map[int64]error{100: gitsource.ErrTooLarge, 5000: gitsource.ErrTooLarge, 1 << 20: nil} {
		s, err := gitsource.Open(gitsource.Options{
			Dir: filepath.Join(t.TempDir(), "store"), Branch: "main", Remotes: []gitsource.Remote{fileRemote(g)},
			MaxFetchBytes: limit,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Fetch(t.Context()); !errors.Is(err, want) {
			t.Errorf("limit %d: got %v, want %v", limit, err, want)
		}
		if _, err := s.Repository().Commit(t.Context(), history[0]); (err == nil) != (want == nil) {
			t.Errorf("limit %d: commit: got %v", limit, err)
		}
	}
}

func TestKeepSurvivesForcePushAndClone(t *testing.T) {
	g := newGit(t)
	history := g.history("main", 3)
	s, dir := openSource(t, fileRemote(g))
	fetch(t, s, history...)
	if err := s.Keep(t.Context(), history[2]); err != nil {
		t.Fatalf("Keep: %v", err)
	}
	if err := s.Keep(t.Context(), gitsource.ID(strings.Repeat("ab", 20))); !errors.Is(err, gitsource.ErrNotFound) {
		t.Errorf("Keep of nothing: got %v, want ErrNotFound", err)
	}
	forced := g.commit(g.files(map[string]string{"forced.yaml": "x"}), "forced")
	g.push("main", forced)
	g.run("reflog", "expire", "--expire=now", "--all")
	g.run("prune", "--expire=now") // no ref leads to the history now
	fetch(t, s, forced)
	git{t, dir}.run("gc", "-q", "--prune=now")
	s = reopenSource(t, dir, fileRemote(g))
	readable(t, s, append(history, forced)...)

	damage(t, dir, history[2], forced)
	s = reopenSource(t, dir, fileRemote(g)) // the pack that damage removes is still open
	if _, err := s.Repository().Commit(t.Context(), forced); err == nil {
		t.Fatal("reading the damaged store: got no error")
	}
	fetch(t, s, forced)
	readable(t, s, history...)
	fsck(t, dir)
	if got := git(git{t, dir}).run("rev-parse", "refs/gitops/accepted"); got != string(history[2]) {
		t.Errorf("accepted: got %s, want %s", got, history[2])
	}
}

// damage unpacks the store and overwrites the file of want. The history of keep stays readable.
func damage(t *testing.T, dir string, keep, want gitsource.ID) {
	t.Helper()
	g := git{t, dir}
	if g.run("cat-file", "-t", string(keep)) != "commit" {
		t.Fatal("nothing to keep")
	}
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pack := range packs {
		data, err := os.ReadFile(pack)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(pack); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(strings.TrimSuffix(pack, ".pack") + ".idx"); err != nil {
			t.Fatal(err)
		}
		g.exec(string(data), "--git-dir", dir, "unpack-objects", "-q")
	}
	file := filepath.Join(dir, "objects", string(want[:2]), string(want[2:]))
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
}
