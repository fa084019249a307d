package gitsource

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFilesOfGitAreBounded: go-git reads the config and refs whole. It takes a ref that cannot be read for one that does not exist.
func TestFilesOfGitAreBounded(t *testing.T) {
	for name, test := range map[string]struct {
		limit int64
		want  error
	}{
		"config": {maxGitFile, ErrTooLarge}, "packed-refs": {maxPackedRefs, ErrTooLarge}, "HEAD": {maxGitFile, ErrNotFound}, "refs/heads/main": {maxGitFile, ErrNotFound},
	} {
		dir := t.TempDir()
		if err := createStore(dir, "main"); err != nil {
			t.Fatal(err)
		}
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(file.Truncate(test.limit+1), file.Close()); err != nil { // a file with a hole takes no space
			t.Fatal(err)
		}
		repo, err := OpenRepository(dir)
		if err == nil {
			_, err = repo.Resolve(t.Context(), "HEAD")
		}
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
}
