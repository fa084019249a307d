package gitsource_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"gitops-agent/gitsource"
)

// loose writes a loose object with a header and a number of zero bytes after it, under any id.
func (g git) loose(id gitsource.ID, header string, zeros int) {
	g.t.Helper()
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, err := z.Write([]byte(header + "\x00"))
	for chunk := make([]byte, 1<<20); err == nil && zeros > 0; zeros -= len(chunk) {
		_, err = z.Write(chunk[:min(zeros, len(chunk))])
	}
	if err = errors.Join(err, z.Close()); err != nil {
		g.t.Fatal(err)
	}
	name := filepath.Join(g.dir, "objects", string(id[:2]), string(id[2:]))
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, packed.Bytes(), 0o600)); err != nil {
		g.t.Fatal(err)
	}
}

// TestLooseObjectsAreBounded has loose objects that unpack to far more than they declare, or than any commit needs.
func TestLooseObjectsAreBounded(t *testing.T) {
	g := newGit(t)
	const large = 64 << 20 // far above the limit of a commit, and 8 times what may be allocated
	id := gitsource.ID(strings.Repeat("ab", 20))
	for name, tt := range map[string]struct {
		header string
		zeros  int
		want   error
	}{
		"more_than_declared": {"commit 100", large, nil},
		"declared":           {fmt.Sprintf("commit %d", large), large, gitsource.ErrTooLarge},
		"another_type":       {"blob 100", large, gitsource.ErrNotFound},
		"less_than_declared": {"commit 100", 99, nil},
		"no_size":            {"commit x", 1, nil},
		"negative":           {"commit -1", 1, nil},
		"endless_header":     {strings.Repeat("x", 1000), large, nil},
		"other_content":      {"commit 5", 5, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g.loose(id, tt.header, tt.zeros)
			repo := open(t, g.dir)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := repo.Commit(t.Context(), id)
			runtime.ReadMemStats(&after)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got %v, want an error, and %v if not nil", err, tt.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
				t.Errorf("got %d MiB allocated, want at most 8", used>>20)
			}
		})
	}
}

// TestOnlyRegularFilesAreOpened puts named pipes, which nobody writes to, in the place of files of a repository. Opening one would wait without end.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	for _, name := range []string{"HEAD", "config", "packed-refs", "refs/heads/main", "objects/ab/" + strings.Repeat("ab", 19), "objects/pack/pack-" + strings.Repeat("ab", 20) + ".idx"} {
		t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
			g := newGit(t)
			file := filepath.Join(g.dir, name)
			_ = os.Remove(file)
			pack := strings.TrimSuffix(file, ".idx") + ".pack" // an index counts only beside its pack
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(pack, nil, 0o600), syscall.Mkfifo(file, 0o600)); err != nil {
				t.Fatal(err)
			}
			repo, err := gitsource.OpenRepository(g.dir)
			for _, rev := range []string{"main", "HEAD", strings.Repeat("ab", 20)} {
				if repo != nil {
					_, resolveErr := repo.Resolve(t.Context(), rev)
					err = errors.Join(err, resolveErr)
				}
			}
			if err == nil || !strings.Contains(err.Error(), "regular file") && !strings.HasPrefix(name, "refs/") && name != "HEAD" { // go-git says of a ref only that it is not there
				t.Errorf("got %v, want an error that says that it is not a regular file", err)
			}
		})
	}
	t.Run("gitdir", func(t *testing.T) {
		dir := t.TempDir()
		if err := syscall.Mkfifo(filepath.Join(dir, ".git"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := gitsource.OpenRepository(dir); err == nil || !strings.Contains(err.Error(), "regular file") {
			t.Errorf("got %v, want an error that says that it is not a regular file", err)
		}
	})
}
