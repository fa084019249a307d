package gitsource_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitops-agent/gitsource"

	"github.com/google/go-cmp/cmp"
)

func TestCommitReturnsBytesAsStored(t *testing.T) {
	g := newGit(t)
	tree := g.files(map[string]string{"a": "1"})
	raw := "tree " + string(tree) + "\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n" +
		"gpgsig -----BEGIN SIGNED MESSAGE-----\n  odd\n -----END SIGNED MESSAGE-----\nodd header\n\nno newline at end"
	id := g.object("commit", []byte(raw))
	tag := "object " + string(id) + "\ntype commit\ntag v1\ntagger A <a@b> 1 +0000\n\nmessage\n"
	tagID := g.object("tag", []byte(tag))
	for name, pack := range map[string]func(){"loose": func() {}, "packed": func() {
		g.push("main", id)
		g.run("update-ref", "refs/tags/v1", string(tagID))
		g.run("repack", "-adq")
	}} {
		t.Run(name, func(t *testing.T) {
			pack()
			repo := open(t, g.dir)
			got, err := repo.Commit(t.Context(), id)
			if diff := cmp.Diff(gitsource.Commit{ID: id, Raw: []byte(raw)}, got); diff != "" || err != nil {
				t.Errorf("Commit: %v, want then got:\n%s", err, diff)
			}
			gotTag, err := repo.Tag(t.Context(), tagID)
			if diff := cmp.Diff(gitsource.Tag{ID: tagID, Raw: []byte(tag)}, gotTag); diff != "" || err != nil {
				t.Errorf("Tag: %v, want then got:\n%s", err, diff)
			}
		})
	}
}

func TestCommitRefuses(t *testing.T) {
	g := newGit(t)
	tree := g.files(map[string]string{"a": "1"})
	commit := g.commit(tree, "one")
	huge := g.object("commit", []byte("tree "+string(tree)+"\n\n"+strings.Repeat("x", 1<<20)))
	missing := gitsource.ID(strings.Repeat("ab", 20))
	repo := open(t, g.dir)
	for name, test := range map[string]struct {
		id   gitsource.ID
		want error
	}{
		"missing":      {missing, gitsource.ErrNotFound},
		"another_type": {tree, gitsource.ErrNotFound},
		"too_large":    {huge, gitsource.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := repo.Commit(t.Context(), test.id); !errors.Is(err, test.want) {
				t.Errorf("Commit: got %v, want %v", err, test.want)
			}
		})
	}
	if _, err := repo.Tag(t.Context(), commit); !errors.Is(err, gitsource.ErrNotFound) {
		t.Errorf("Tag of a commit: got %v, want ErrNotFound", err)
	}
	if _, err := repo.Commit(t.Context(), "HEAD"); err == nil {
		t.Error("Commit(HEAD): got no error")
	}
}

// TestCommitChecksItsID stores the bytes of another commit under an id, as on a damaged disk.
func TestCommitChecksItsID(t *testing.T) {
	g := newGit(t)
	tree := g.files(map[string]string{"a": "1"})
	one, two := g.commit(tree, "one"), g.commit(tree, "two")
	file := func(id gitsource.ID) string { return filepath.Join(g.dir, "objects", string(id[:2]), string(id[2:])) }
	if err := os.Remove(file(two)); err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(file(one))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file(two)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file(two), other, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = open(t, g.dir).Commit(t.Context(), two)
	if err == nil || !strings.Contains(err.Error(), "content has SHA-1 "+string(one)) {
		t.Errorf("Commit: got %v, want the id of the content", err)
	}
}

func TestOpenRepositoryLayouts(t *testing.T) {
	g := newGit(t)
	want := g.history("main", 2)[1]
	work := filepath.Join(t.TempDir(), "work")
	g.exec("", "clone", "-q", g.dir, work)
	linked := filepath.Join(t.TempDir(), "linked")
	g.exec("", "-C", work, "worktree", "add", "-q", linked, "-b", "side")
	for name, dir := range map[string]string{
		"bare": g.dir, "work_tree": work, "dot_git": filepath.Join(work, ".git"), "linked_work_tree": linked,
	} {
		t.Run(name, func(t *testing.T) {
			before := listing(t, dir)
			repo := open(t, dir)
			id, err := repo.Resolve(t.Context(), "HEAD")
			if err != nil || id != want {
				t.Errorf("Resolve(HEAD): got %s, %v, want %s", id, err, want)
			}
			files, err := repo.Files(t.Context(), treeOf(t.Context(), t, repo, id), gitsource.TreeOptions{})
			if err != nil || len(files) != 1 {
				t.Errorf("Files: got %v, %v, want one file", files, err)
			}
			if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
				t.Errorf("reading changed the directory:\n%s", diff)
			}
		})
	}
}

func TestFindRepository(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	g.history("main", 1)
	work := filepath.Join(t.TempDir(), "work")
	g.exec("", "clone", "-q", g.dir, work)
	below, inGit, outside := filepath.Join(work, "sites", "home"), filepath.Join(work, ".git", "refs"), t.TempDir()
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ dir, want string }{
		"root": {work, work}, "below": {below, work}, "bare": {g.dir, g.dir}, "below_bare": {filepath.Join(g.dir, "objects"), g.dir},
		"below_dot_git": {inGit, filepath.Join(work, ".git")}, "none": {outside, outside}, "absent": {filepath.Join(outside, "absent"), filepath.Join(outside, "absent")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := gitsource.FindRepository(test.dir); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// listing returns every file under dir with its size and modification time.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			names = append(names, path+" "+info.Mode().String()+" "+info.ModTime().String())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestOpenRepositoryRefuses(t *testing.T) {
	empty := t.TempDir()
	pointer := t.TempDir()
	if err := os.WriteFile(filepath.Join(pointer, ".git"), []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	reftable := newGit(t)
	reftable.run("config", "extensions.refstorage", "reftable") // git 2.39 itself refuses it from here on
	for name, test := range map[string]struct{ dir, want string }{
		"reftable":    {reftable.dir, `ref storage "reftable" is not supported`},
		"absent":      {filepath.Join(empty, "absent"), "not a git repository"},
		"empty":       {empty, "not a git repository"},
		"sha256":      {newGit(t, "--object-format=sha256").dir, `object format "sha256" is not supported`},
		"bad_pointer": {pointer, "want one line"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := gitsource.OpenRepository(test.dir)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
