package gitsource_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gitops-agent/gitsource"

	"github.com/google/go-cmp/cmp"
)

func TestFiles(t *testing.T) {
	g := newGit(t)
	tree := g.files(map[string]string{
		"README.md": "hi", "a/x.yaml": "1", "a/b/y.yml": "2", "a/b/z.txt": "3", "a.yaml": "4", "c/d/e/f.yaml": "5",
	})
	repo := open(t, g.dir)
	for name, test := range map[string]struct {
		opts gitsource.TreeOptions
		want []string
	}{
		"everything":  {gitsource.TreeOptions{}, []string{"README.md", "a.yaml", "a/b/y.yml", "a/b/z.txt", "a/x.yaml", "c/d/e/f.yaml"}},
		"dot":         {gitsource.TreeOptions{Paths: []string{"c", "."}}, []string{"README.md", "a.yaml", "a/b/y.yml", "a/b/z.txt", "a/x.yaml", "c/d/e/f.yaml"}},
		"directory":   {gitsource.TreeOptions{Paths: []string{"a/"}}, []string{"a/b/y.yml", "a/b/z.txt", "a/x.yaml"}},
		"inner":       {gitsource.TreeOptions{Paths: []string{"./c/d"}}, []string{"c/d/e/f.yaml"}},
		"file":        {gitsource.TreeOptions{Paths: []string{"a.yaml"}}, []string{"a.yaml"}},
		"overlapping": {gitsource.TreeOptions{Paths: []string{"a/b", "a", "a.yaml", "a"}}, []string{"a.yaml", "a/b/y.yml", "a/b/z.txt", "a/x.yaml"}},
		"suffixes":    {gitsource.TreeOptions{Suffixes: []string{".yaml", ".yml"}}, []string{"a.yaml", "a/b/y.yml", "a/x.yaml", "c/d/e/f.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := repo.Files(t.Context(), tree, test.opts)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range files {
				got = append(got, f.Path)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("want then got:\n%s", diff)
			}
		})
	}
	files, err := repo.Files(t.Context(), tree, gitsource.TreeOptions{Paths: []string{"a/b/y.yml"}})
	if diff := cmp.Diff([]gitsource.File{{Path: "a/b/y.yml", Data: []byte("2")}}, files); diff != "" || err != nil {
		t.Errorf("%v, want then got:\n%s", err, diff)
	}
	if files, err := repo.Files(t.Context(), "", gitsource.TreeOptions{}); err != nil || len(files) != 0 {
		t.Errorf("empty tree: got %v, %v", files, err)
	}
}

func TestFilesRefusesEntries(t *testing.T) {
	g := newGit(t)
	blob := string(g.blob("x"))
	commit := string(g.commit(g.files(map[string]string{"a": "1"}), "sub"))
	clean := string(g.files(map[string]string{"ok.yaml": "1"}))
	for name, test := range map[string]struct {
		entry      [3]string
		wantReason string
	}{
		"symlink":     {[3]string{"120000", "link", blob}, "symbolic links"},
		"submodule":   {[3]string{"160000", "sub", commit}, "submodules"},
		"dot":         {[3]string{"100644", ".", blob}, "reserved"},
		"dot_dot":     {[3]string{"40000", "..", clean}, "reserved"},
		"dot_git":     {[3]string{"40000", ".git", clean}, "reserved"},
		"dot_git_any": {[3]string{"100644", ".GiT", blob}, "reserved"},
		"backslash":   {[3]string{"100644", `a\b`, blob}, "backslash"},
		"not_utf8":    {[3]string{"100644", "a\xff", blob}, "not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			inner := g.tree(test.entry)
			root := g.tree([3]string{"40000", "guests", string(inner)}, [3]string{"40000", "other", clean})
			repo := open(t, g.dir)
			_, err := repo.Files(t.Context(), root, gitsource.TreeOptions{Suffixes: []string{".yaml"}})
			var refused *gitsource.TreeError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want a TreeError", err)
			}
			if want := "guests/" + test.entry[1]; refused.Path != want || !strings.Contains(refused.Reason, test.wantReason) {
				t.Errorf("got %q: %q, want %q: %q", refused.Path, refused.Reason, want, test.wantReason)
			}
			files, err := repo.Files(t.Context(), root, gitsource.TreeOptions{Paths: []string{"other"}})
			if err != nil || len(files) != 1 {
				t.Errorf("beside it: got %v, %v, want one file", files, err)
			}
		})
	}
}

func TestFilesRefusesBadPaths(t *testing.T) {
	g := newGit(t)
	blob := string(g.blob("x"))
	clean := string(g.files(map[string]string{"ok.yaml": "1"}))
	root := g.tree([3]string{"40000", "dir", clean}, [3]string{"100644", "file", blob}, [3]string{"120000", "link", blob})
	repo := open(t, g.dir)
	for path, want := range map[string]string{
		"../x": "not inside", "/etc": "not inside", "link/x": "symbolic links", "link": "symbolic links",
	} {
		_, err := repo.Files(t.Context(), root, gitsource.TreeOptions{Paths: []string{path}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
	for _, path := range []string{"absent", "dir/absent", "file/x", "absent/x"} {
		_, err := repo.Files(t.Context(), root, gitsource.TreeOptions{Paths: []string{path}})
		if !errors.Is(err, gitsource.ErrNoPath) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want ErrNoPath that names it", path, err)
		}
	}
}

func TestFile(t *testing.T) {
	g := newGit(t)
	blob := string(g.blob("12345"))
	clean := string(g.files(map[string]string{"web.age": "12345"}))
	root := g.tree([3]string{"40000", "dir", clean}, [3]string{"100644", "file", blob}, [3]string{"120000", "link", blob}, [3]string{"160000", "sub", strings.Repeat("1", 40)})
	repo := open(t, g.dir)
	for path, want := range map[string]string{
		"dir": "is a directory", "dir/": "no such path", "/file": "no such path", "dir/../file": "no such path", "link": "symbolic links", "link/x": "symbolic links", "sub": "submodules",
		"absent": "no such path", "dir/absent": "no such path", "file/x": "no such path", "": "no such path",
	} {
		if data, err := repo.File(t.Context(), root, path, 100); err == nil || data != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, %v, want %q", path, data, err, want)
		}
	}
	for path, limit := range map[string]int64{"dir/web.age": 5, "file": 100} {
		if data, err := repo.File(t.Context(), root, path, limit); err != nil || string(data) != "12345" {
			t.Errorf("%s: got %q, %v, want the content", path, data, err)
		}
	}
	if _, err := repo.File(t.Context(), root, "file", 4); !errors.Is(err, gitsource.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	files, err := repo.Files(t.Context(), g.files(map[string]string{"a.yaml": "1", "b.sops.yaml": strings.Repeat("x", 2<<20)}), gitsource.TreeOptions{Suffixes: []string{".yaml"}, Skipped: []string{".sops.yaml"}})
	if err != nil || len(files) != 1 || files[0].Path != "a.yaml" {
		t.Errorf("got %v, %v, want the file that is not skipped", files, err)
	}
}

func TestFilesLimits(t *testing.T) {
	g := newGit(t)
	tree := g.files(map[string]string{"a.yaml": "12345", "b.yaml": "12345", "big.iso": strings.Repeat("x", 2<<20)})
	repo := open(t, g.dir)
	yaml := []string{".yaml"}
	for name, test := range map[string]struct {
		opts gitsource.TreeOptions
		want error
	}{
		"default_file":   {gitsource.TreeOptions{}, gitsource.ErrTooLarge},
		"not_read":       {gitsource.TreeOptions{Suffixes: yaml}, nil},
		"file":           {gitsource.TreeOptions{Suffixes: yaml, MaxFile: 4}, gitsource.ErrTooLarge},
		"file_at_limit":  {gitsource.TreeOptions{Suffixes: yaml, MaxFile: 5}, nil},
		"total":          {gitsource.TreeOptions{Suffixes: yaml, MaxTotal: 9}, gitsource.ErrTooLarge},
		"total_at_limit": {gitsource.TreeOptions{Suffixes: yaml, MaxTotal: 10}, nil},
		"files":          {gitsource.TreeOptions{Suffixes: yaml, MaxFiles: 1}, gitsource.ErrTooLarge},
		"files_at_limit": {gitsource.TreeOptions{Suffixes: yaml, MaxFiles: 2}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := repo.Files(t.Context(), tree, test.opts); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// TestFilesBoundsTheWalk reads trees in which a few objects describe very many entries: wide trees of shared subtrees, and a
// deep tree.
func TestFilesBoundsTheWalk(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	wide := g.files(map[string]string{"a.txt": "1"})
	for range 8 {
		var entries [][3]string
		for i := range 10 {
			entries = append(entries, [3]string{"40000", fmt.Sprint(i), string(wide)})
		}
		wide = g.tree(entries...)
	}
	deep := g.files(map[string]string{"a.txt": "1"})
	for range 70 {
		deep = g.tree([3]string{"40000", "d", string(deep)})
	}
	repo := open(t, g.dir)
	opts := gitsource.TreeOptions{Suffixes: []string{".yaml"}}
	if _, err := repo.Files(t.Context(), wide, opts); !errors.Is(err, gitsource.ErrTooLarge) {
		t.Errorf("Files of a wide tree: got %v, want ErrTooLarge", err)
	}
	if _, err := repo.Changed(t.Context(), "", wide); !errors.Is(err, gitsource.ErrTooLarge) {
		t.Errorf("Changed of a wide tree: got %v, want ErrTooLarge", err)
	}
	var refused *gitsource.TreeError
	if _, err := repo.Files(t.Context(), deep, opts); !errors.As(err, &refused) {
		t.Errorf("Files of a deep tree: got %v, want a TreeError", err)
	}
	if _, err := repo.Changed(t.Context(), "", deep); !errors.As(err, &refused) {
		t.Errorf("Changed of a deep tree: got %v, want a TreeError", err)
	}
}

func TestChanged(t *testing.T) {
	g := newGit(t)
	blob, other := string(g.blob("x")), string(g.blob("y"))
	dir := string(g.files(map[string]string{"f": "x", "g": "y"}))
	empty := string(g.tree())
	tree := func(entries ...[3]string) gitsource.ID { return g.tree(entries...) }
	file := func(mode, name, id string) [3]string { return [3]string{mode, name, id} }
	repo := open(t, g.dir)
	for name, test := range map[string]struct {
		a, b gitsource.ID
		want []string
	}{
		"same":         {tree(file("100644", "a", blob)), tree(file("100644", "a", blob)), nil},
		"both_empty":   {"", gitsource.ID(empty), nil},
		"content":      {tree(file("100644", "a", blob)), tree(file("100644", "a", other)), []string{"a"}},
		"mode":         {tree(file("100644", "a", blob)), tree(file("100755", "a", blob)), []string{"a"}},
		"became_link":  {tree(file("100644", "a", blob)), tree(file("120000", "a", blob)), []string{"a"}},
		"added":        {"", tree(file("40000", "d", dir)), []string{"d/f", "d/g"}},
		"removed":      {tree(file("100644", "a", blob), file("40000", "d", dir)), tree(file("100644", "a", blob)), []string{"d/f", "d/g"}},
		"file_to_dir":  {tree(file("100644", "d", blob)), tree(file("40000", "d", dir)), []string{"d", "d/f", "d/g"}},
		"dir_to_file":  {tree(file("40000", "d", dir)), tree(file("100644", "d", blob)), []string{"d", "d/f", "d/g"}},
		"empty_dir":    {"", tree(file("40000", "d", empty)), []string{"d"}},
		"submodule":    {"", tree(file("160000", "s", blob)), []string{"s"}},
		"unusual_name": {"", tree(file("100644", "a\\\xff\n", blob)), []string{"a\\\xff\n"}},
		"nested":       {tree(file("40000", "x", string(tree(file("40000", "d", dir))))), tree(file("40000", "x", string(tree(file("100644", "n", blob))))), []string{"x/d/f", "x/d/g", "x/n"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := repo.Changed(t.Context(), test.a, test.b)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v, want then got:\n%s", err, diff)
			}
		})
	}
	for _, name := range []string{".", "..", ".git", ".Git"} {
		var refused *gitsource.TreeError
		if _, err := repo.Changed(t.Context(), "", tree(file("100644", name, blob))); !errors.As(err, &refused) {
			t.Errorf("name %s: got %v, want a TreeError", name, err)
		}
	}
	missing := tree(file("40000", "d", strings.Repeat("ab", 20)))
	if _, err := repo.Changed(t.Context(), "", missing); !errors.Is(err, gitsource.ErrNotFound) {
		t.Errorf("incomplete repository: got %v, want ErrNotFound", err)
	}
}
