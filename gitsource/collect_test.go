package gitsource

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"gitops-agent/internal/gittest"
	_ "gitops-agent/internal/memtemp"
	"gitops-agent/internal/sigtest"
)

// counts returns the numbers of loose objects and of packs in a store.
func counts(t *testing.T, dir string) (loose, packs int) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "objects", "??", "*"))
	if err != nil {
		t.Fatal(err)
	}
	indexes, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.idx"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found), len(indexes)
}

// addLoose adds blobs to a store, and returns their ids.
func addLoose(t *testing.T, dir string, first, n int) (added []plumbing.Hash) {
	t.Helper()
	for i := first; i < first+n; i++ {
		id, err := gittest.WriteObject(dir, "blob", fmt.Appendf(nil, "%0*d", 1+i%40, i))
		if err != nil {
			t.Fatal(err)
		}
		added = append(added, plumbing.NewHash(id))
	}
	return added
}

// TestFilesOfAStoreAreBounded adds loose objects without end. The number of files stays bounded, every object stays readable, also for a process that
// opened the store before the last collection, and git finds no fault.
func TestFilesOfAStoreAreBounded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	if err := createStore(dir, "main"); err != nil {
		t.Fatal(err)
	}
	var all []plumbing.Hash
	most := 0
	for round := range 20 {
		reader, err := OpenRepository(dir)
		if err != nil {
			t.Fatal(err)
		}
		st, err := openStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		before := len(all)
		all = append(all, addLoose(t, dir, 10_000+round*collectLimit/2, collectLimit/2)...)
		if _, err := st.collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		st.close()
		for i := 0; i < before; i += 97 {
			if !reader.has(all[i]) {
				t.Fatalf("round %d: a reader that opened the store before does not find object %d", round, i)
			}
		}
		loose, packs := counts(t, dir)
		most = max(most, packs)
		if loose > 2*collectLimit || packs > collectedPacks+2 {
			t.Fatalf("round %d: got %d loose objects and %d packs, want at most %d and %d", round, loose, packs, 2*collectLimit, collectedPacks+2)
		}
	}
	if most < collectedPacks {
		t.Errorf("got at most %d packs, want %d before they are merged", most, collectedPacks)
	}
	repo, err := OpenRepository(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range all {
		if _, err := repo.objects.read(t.Context(), plumbing.BlobObject, h, maxCommit); err != nil {
			t.Fatalf("object %d: %v", i, err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "git", "--git-dir", dir, "fsck", "--full", "--no-dangling")
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
}

// TestFetchCollects pushes until the store collects, and once more. Every commit stays readable, and the fetched objects are no longer loose.
func TestFetchCollects(t *testing.T) {
	t.Parallel()
	remote := gittest.New(t)
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(Options{Dir: dir, Branch: "main", Remotes: []Remote{{URL: "file://" + remote.Dir}}})
	if err != nil {
		t.Fatal(err)
	}
	sig, err := sigtest.New(sigtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var commits []ID
	for push := range 5 {
		for i := range 90 {
			remote.Files[fmt.Sprintf("guest-%d.yaml", i)] = fmt.Sprintf("guest %d in push %d\n", i, push)
		}
		commits = append(commits, ID(remote.Push(sig, sigtest.Identity{Subject: "a@lab.test", Issuer: "https://issuer.test"}, "push")))
		if _, err := s.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if loose, packs := counts(t, dir); loose > 3*92 || packs != 1 {
		t.Errorf("got %d loose objects and %d packs, want those of the last pushes and one pack", loose, packs)
	}
	for _, id := range commits {
		if _, err := s.Repository().Commit(t.Context(), id); err != nil {
			t.Errorf("commit %s: %v", id, err)
		}
	}
}
