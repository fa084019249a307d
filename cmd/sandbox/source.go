package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/internal/sandbox"
)

// Bounds of what is copied. The agent reads no larger file and not more files.
const (
	maxFile  = 1 << 20
	maxTotal = 64 << 20
	maxFiles = 10_000
)

// source is the directory that the user names, or a revision of the repository that contains it. It is only read.
type source struct {
	dir      string
	revision string // "" means the files as they are
}

// entry is one file, or a symbolic link.
type entry struct {
	data []byte
	link bool // data is the target
}

// snapshot is the content of a source by path.
type snapshot struct {
	entries map[string]entry
	left    int // files that were left out because they are too large to be manifests
}

func (s snapshot) equal(other snapshot) bool {
	return maps.EqualFunc(s.entries, other.entries, func(a, b entry) bool { return a.link == b.link && bytes.Equal(a.data, b.data) })
}

// read returns the content of the source.
func (s source) read(ctx context.Context) (snapshot, error) {
	if info, err := os.Stat(s.dir); err != nil {
		return snapshot{}, fmt.Errorf("read the directory with manifests, such as examples/manifests/homelab: %w", err)
	} else if !info.IsDir() {
		return snapshot{}, fmt.Errorf("%s is not a directory", s.dir)
	}
	if s.revision != "" {
		return s.readRevision(ctx)
	}
	names, err := s.names(ctx)
	if err != nil {
		return snapshot{}, err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return snapshot{}, err
	}
	defer func() { _ = root.Close() }()
	found := snapshot{entries: map[string]entry{}}
	total := int64(0)
	for _, name := range names {
		size, err := found.add(root, name)
		if err != nil {
			return snapshot{}, fmt.Errorf("read %s: %w", name, err)
		}
		if total += size; total > maxTotal || len(found.entries) > maxFiles {
			return snapshot{}, fmt.Errorf("read %s: more than %d files or %d MiB; name the folder with manifests", s.dir, maxFiles, maxTotal>>20)
		}
	}
	return found, nil
}

// add reads one file of the directory, and returns its size. It leaves out what git does not store, and what disappeared meanwhile.
func (s *snapshot) add(root *os.Root, name string) (int64, error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		s.entries[name] = entry{[]byte(target), true}
		return 0, err
	case !info.Mode().IsRegular():
		return 0, nil
	case info.Size() > maxFile && !isManifest(name):
		s.left++
		return 0, nil
	}
	file, err := root.Open(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxTotal))
	s.entries[name] = entry{data: data}
	return int64(len(data)), err
}

func isManifest(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// names lists the files below the directory: those that git would commit or, outside a repository, all.
func (s source) names(ctx context.Context) ([]string, error) {
	if s.inRepository(ctx) {
		out, err := s.git(ctx, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
		return slices.Compact(slices.Sorted(strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00"))), err
	}
	var names []string
	err := fs.WalkDir(os.DirFS(s.dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case !d.IsDir():
			names = append(names, name)
		}
		if len(names) > maxFiles {
			return fmt.Errorf("more than %d files; name the folder with manifests", maxFiles)
		}
		return nil
	})
	return names, err
}

func (s source) inRepository(ctx context.Context) bool {
	_, err := s.git(ctx, nil, "rev-parse", "--git-dir")
	return err == nil
}

// uncommitted returns how many files differ from the newest commit.
func (s source) uncommitted(ctx context.Context) int {
	out, err := s.git(ctx, nil, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all", "--", ".")
	if err != nil {
		return 0
	}
	return bytes.Count(out, []byte{0})
}

// readRevision reads the directory as it is in a commit.
func (s source) readRevision(ctx context.Context) (snapshot, error) {
	listed, err := s.git(ctx, nil, "ls-tree", "-r", "-z", "--full-name", "--end-of-options", s.revision+"^{commit}", ".")
	if err != nil {
		return snapshot{}, err
	}
	prefix, err := s.git(ctx, nil, "rev-parse", "--show-prefix")
	if err != nil {
		return snapshot{}, err
	}
	folder := strings.TrimSuffix(string(prefix), "\n")
	var names, ids []string
	links := map[string]bool{}
	for line := range strings.SplitSeq(strings.Trim(string(listed), "\x00"), "\x00") {
		meta, name, _ := strings.Cut(line, "\t")
		fields := strings.Fields(meta)
		if len(fields) == 3 && fields[1] == "blob" {
			name = strings.TrimPrefix(name, folder)
			names, ids, links[name] = append(names, name), append(ids, fields[2]), fields[0] == "120000"
		}
	}
	if len(names) > maxFiles {
		return snapshot{}, fmt.Errorf("more than %d files in %s", maxFiles, s.revision)
	}
	blobs, err := s.git(ctx, strings.NewReader(strings.Join(ids, "\n")+"\n"), "cat-file", "--batch")
	if err != nil {
		return snapshot{}, err
	}
	found := snapshot{entries: map[string]entry{}}
	reader := bufio.NewReader(bytes.NewReader(blobs))
	for _, name := range names {
		data, err := readBlob(reader)
		if err != nil {
			return snapshot{}, fmt.Errorf("read %s: %w", name, err)
		}
		if len(data) > maxFile && !isManifest(name) {
			found.left++
			continue
		}
		found.entries[name] = entry{data, links[name]}
	}
	return found, nil
}

// readBlob reads one object of git cat-file --batch: "<id> blob <size>", the content and a line break.
func readBlob(r *bufio.Reader) ([]byte, error) {
	header, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(header)
	size, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		return nil, fmt.Errorf("git says %q", strings.TrimSpace(header))
	}
	data := make([]byte, size)
	if _, err = io.ReadFull(r, data); err == nil {
		_, err = r.Discard(1)
	}
	return data, err
}

// git runs a command that only reads, without locks and without network: it fetches nothing into a partial clone.
func (s source) git(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	settings := []string{"--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never", "-C", s.dir}
	cmd := exec.CommandContext(ctx, "git", append(settings, args...)...) //nolint:gosec // git, with a directory and a revision of the user
	cmd.Stdin, cmd.Env = stdin, sandbox.WithoutGit(os.Environ())
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(problem.String()))
	}
	return out, nil
}

// writeTo replaces the files of a working copy, except .git, by the snapshot.
func (s snapshot) writeTo(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	old, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, file := range old {
		if file.Name() != ".git" {
			err = errors.Join(err, root.RemoveAll(file.Name()))
		}
	}
	for name, e := range s.entries {
		name = filepath.FromSlash(name)
		if folder := filepath.Dir(name); folder != "." {
			err = errors.Join(err, root.MkdirAll(folder, 0o700))
		}
		if e.link {
			err = errors.Join(err, root.Symlink(string(e.data), name))
		} else {
			err = errors.Join(err, root.WriteFile(name, e.data, 0o600))
		}
	}
	return err
}
