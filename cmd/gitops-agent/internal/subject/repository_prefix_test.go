package subject

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRepositoryPrefix(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"clusters/home", "clusters/office", "export"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		dir   string
		paths []string
		want  string
	}{
		{".", nil, ""},
		{"export", nil, ""},
		{"clusters/home", []string{"clusters/home"}, "clusters/home"},
		{"clusters/home/", []string{"clusters/home/"}, "clusters/home"},
		{"clusters/home", []string{"home", "clusters/home"}, "clusters/home"},
		{"clusters/office", []string{"clusters/home", "clusters/office"}, "clusters/office"},
		{".", []string{"clusters/home"}, ""},
		{".", []string{"clusters/home", "clusters/office"}, ""},
		{"export", []string{"clusters/home"}, "clusters/home"},
		{"export", []string{"clusters/home", "clusters/office"}, ""},
		{"export", []string{"."}, ""},
		{"export", []string{""}, ""},
		{"export", []string{".", "clusters/home"}, ""},
	} {
		if got := repositoryPrefix(filepath.Join(root, test.dir), test.paths); got != test.want {
			t.Errorf("%s of %q: got %q, want %q", test.dir, test.paths, got, test.want)
		}
	}
}
