package gitsource_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gitops-agent/gitsource"

	"github.com/google/go-cmp/cmp"
)

// overwrite replaces the file of a loose object.
func overwrite(t *testing.T, dir string, id gitsource.ID, content string) {
	t.Helper()
	file := filepath.Join(dir, "objects", string(id[:2]), string(id[2:]))
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if content == "" {
		return
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedStoreIsClonedAgain damages a store and fetches. While the remotes are down, its other objects stay readable.
func TestDamagedStoreIsClonedAgain(t *testing.T) {
	g := newGit(t)
	first := g.history("main", 3)
	blob := g.blob("memory: 2\n") // of the third revision
	for name, content := range map[string]string{"torn": "torn", "emptied": "\x00", "lost": ""} {
		t.Run(name, func(t *testing.T) {
			down := filepath.Join(t.TempDir(), "remote.git")
			if err := os.Symlink(g.dir, down); err != nil {
				t.Fatal(err)
			}
			s, dir := openSource(t, gitsource.Remote{URL: down})
			fetch(t, s, first...)
			overwrite(t, dir, blob, content)
			repo := s.Repository()
			tree := treeOf(t.Context(), t, repo, first[2])
			if _, err := repo.Files(t.Context(), tree, gitsource.TreeOptions{}); err == nil {
				t.Fatal("Files: got no error from a damaged store")
			}
			if err := os.Rename(down, down+".away"); err != nil {
				t.Fatal(err)
			}
			wantRemoteError(t, s, "")
			readable(t, s, first[:2]...)
			if err := os.Rename(down+".away", down); err != nil {
				t.Fatal(err)
			}
			fetch(t, s, first...)
			fsck(t, dir)
			beside, err := filepath.Glob(dir + "*")
			if diff := cmp.Diff([]string{dir}, beside); diff != "" || err != nil {
				t.Errorf("left beside the store: %v\n%s", err, diff)
			}
		})
	}
}

// TestLostObjectShowsAtTheNextPush removes an object from the store. The next commit needs the object, and the remote does not
// send it, because the store lists the commit of the object as present.
func TestLostObjectShowsAtTheNextPush(t *testing.T) {
	g := newGit(t)
	first := g.history("main", 3)
	lost := g.blob("memory: 2\n")
	tree := g.files(map[string]string{"same.yaml": "memory: 2\n"})
	next := g.commit(tree, "next", first[2])
	g.push("main", first[2])
	news := new(packWriter)
	news.object(packCommit, []byte(g.run("cat-file", "commit", string(next))+"\n"))
	news.object(packTree, append([]byte("100644 same.yaml\x00"), unhex(t, string(lost))...))
	handler := gitHTTP(t, g)
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	s, dir := openSource(t, plain(srv))
	fetch(t, s, first...)
	overwrite(t, dir, lost, "")
	g.push("main", next)
	handler = hostile{tip: next, reply: func(w io.Writer) { _, _ = w.Write(news.pack(2)) }}
	_, err := s.Fetch(t.Context())
	if err == nil || errors.Is(err, gitsource.ErrUnreachable) || !strings.Contains(err.Error(), "names "+string(lost)) {
		t.Fatalf("got %v, want an error of the store", err)
	}
	wantRemoteError(t, s, "incomplete history") // a clone from this remote lacks the object too
	handler = gitHTTP(t, g)
	fetch(t, s, append(first, next)...)
	fsck(t, dir)
}

func TestLocalErrorsAreNotRemoteErrors(t *testing.T) {
	g := newGit(t)
	g.history("main", 1)
	s, dir := openSource(t, fileRemote(g))
	packs := filepath.Join(dir, "objects", "pack")
	if err := os.Remove(packs); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(packs, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fetch(t.Context()); err == nil || errors.Is(err, gitsource.ErrUnreachable) {
		t.Errorf("unusable directory: got %v, want an error of the store", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Fetch(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, gitsource.ErrUnreachable) {
		t.Errorf("cancelled: got %v, want only context.Canceled", err)
	}
}

func TestOpenAfterCrash(t *testing.T) {
	g := newGit(t)
	first := g.history("main", 2)
	for name, crash := range map[string]func(t *testing.T, dir string){
		"between_renames": func(t *testing.T, dir string) {
			if err := errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir+".new", 0o700)); err != nil {
				t.Fatal(err)
			}
		},
		"before_cleaning": func(t *testing.T, dir string) {
			if err := os.Mkdir(dir+".old", 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"while_receiving": func(t *testing.T, dir string) {
			for _, name := range []string{"tmp_pack_1", "tmp_idx_1", "tmp_ref_1", "tmp_obj_1"} {
				if err := os.WriteFile(filepath.Join(dir, "objects", "pack", name), []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := openSource(t, fileRemote(g))
			fetch(t, s, first...)
			crash(t, dir)
			s = reopenSource(t, dir, fileRemote(g))
			readable(t, s, first...)
			next := g.commit(g.files(map[string]string{"f.yaml": name}), "next", first[1])
			g.push("main", next)
			t.Cleanup(func() { g.push("main", first[1]) })
			fetch(t, s, append(first, next)...)
			left, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "tmp_*"))
			if err != nil || len(left) != 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
		})
	}
}

// TestOpenMovesUnusableStore opens a store that is no longer a repository. It is moved to Dir.old.
func TestOpenMovesUnusableStore(t *testing.T) {
	g := newGit(t)
	first := g.history("main", 2)
	s, dir := openSource(t, fileRemote(g))
	fetch(t, s, first...)
	if err := os.Remove(filepath.Join(dir, "HEAD")); err != nil {
		t.Fatal(err)
	}
	s = reopenSource(t, dir, fileRemote(g))
	if _, err := os.Stat(filepath.Join(dir+".old", "objects")); err != nil {
		t.Errorf("the old store is gone: %v", err)
	}
	fetch(t, s, first...)
}

func TestOpenRefusesForeignDirectories(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := gitsource.Open(gitsource.Options{Dir: dir, Branch: "main", Remotes: []gitsource.Remote{{URL: "/srv/r.git"}}})
	if err == nil || !strings.Contains(err.Error(), "is not a bare repository") {
		t.Errorf("got %v, want the directory unchanged", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "precious")); err != nil {
		t.Error(err)
	}
}

// TestBranchChanges gives the store another branch, whose name has the name of the old branch as a directory.
func TestBranchChanges(t *testing.T) {
	g := newGit(t)
	first := g.history("main", 2)
	s, dir := openSource(t, fileRemote(g))
	fetch(t, s, first...)
	g.push("other", first[0])
	g.run("update-ref", "-d", "refs/heads/main")
	g.push("main/next", first[0])
	s, err := gitsource.Open(gitsource.Options{Dir: dir, Branch: "main/next", Remotes: []gitsource.Remote{fileRemote(g)}})
	if err != nil {
		t.Fatal(err)
	}
	fetch(t, s, first[0])
	readable(t, s, first...)
	if id, err := s.Repository().Resolve(t.Context(), "HEAD"); err != nil || id != first[0] {
		t.Errorf("Resolve(HEAD): got %s, %v, want %s", id, err, first[0])
	}
}

// TestReadingWhileFetching reads old revisions from several goroutines while new ones arrive and the store is replaced.
func TestReadingWhileFetching(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	history := g.history("main", 3)
	s, dir := openSource(t, fileRemote(g))
	fetch(t, s, history...)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := s.Repository().Commit(context.Background(), history[0]); err != nil {
					t.Errorf("Commit: %v", err)
					return
				}
			}
		})
	}
	tip := history[2]
	for i := range 6 {
		tip = g.commit(g.files(map[string]string{"f.yaml": strings.Repeat("x", i)}), "next", tip)
		g.push("main", tip)
		fetch(t, s, tip)
		if err := s.Keep(t.Context(), tip); err != nil {
			t.Errorf("Keep: %v", err)
		}
		overwrite(t, dir, tip, "torn")
		if _, err := s.Repository().Commit(t.Context(), tip); err == nil {
			t.Error("reading the damaged store: got no error")
		}
		fetch(t, s, tip)
	}
	close(stop)
	readers.Wait()
}
