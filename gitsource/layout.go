package gitsource

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"gitops-agent/gitsource/remote"
)

const (
	objectCacheSize = 16 * cache.MiByte
	maxOpenPacks    = 16 // file descriptors per repository
)

// openStorage opens the repository at dir and finds its git directory. Objects are always unpacked in memory, after their
// size is checked. go-git's streaming of large objects unpacks them in other goroutines, where a panic cannot be caught.
func openStorage(dir string) (*filesystem.Storage, error) {
	gitDir, err := findGitDir(dir)
	if err != nil {
		return nil, err
	}
	tree, err := repositoryFS(gitDir)
	if err != nil {
		return nil, err
	}
	st := filesystem.NewStorageWithOptions(tree, cache.NewObjectLRU(objectCacheSize),
		filesystem.Options{MaxOpenDescriptors: maxOpenPacks})
	if err := checkFormat(st); err != nil {
		return nil, err
	}
	return st, nil
}

// FindRepository returns the directory of the repository that contains dir, as git finds it: dir, or the nearest directory above it that
// OpenRepository could open. It returns dir if there is none, so that an error names what was asked for.
func FindRepository(dir string) string {
	above, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	for first := true; ; first = false {
		if _, err := findGitDir(above); err == nil {
			if first {
				return dir
			}
			return above
		}
		parent := filepath.Dir(above)
		if parent == above {
			return dir
		}
		above = parent
	}
}

// findGitDir returns the directory that contains HEAD and objects: dir itself, dir/.git, or the target of the file dir/.git.
func findGitDir(dir string) (string, error) {
	dotGit := filepath.Join(dir, ".git")
	info, err := os.Stat(dotGit)
	if errors.Is(err, fs.ErrNotExist) {
		return dir, checkGitDir(dir)
	}
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return dotGit, checkGitDir(dotGit)
	}
	target, err := readPointer(dotGit, "gitdir: ")
	if err != nil {
		return "", err
	}
	target = relativeTo(dir, target)
	return target, checkGitDir(target)
}

func checkGitDir(dir string) error {
	for _, name := range []string{"HEAD", "objects", "commondir"} {
		_, err := os.Stat(filepath.Join(dir, name))
		if name == "HEAD" && err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return errors.New("not a git repository")
			}
			return err
		}
		if name != "HEAD" && err == nil {
			return nil
		}
	}
	return errors.New("not a git repository: no objects directory")
}

// repositoryFS returns the git directory, combined with the common directory that linked work trees share.
func repositoryFS(gitDir string) (billy.Filesystem, error) {
	own := regularFiles{osfs.New(gitDir, osfs.WithBoundOS())}
	common, err := readPointer(filepath.Join(gitDir, "commondir"), "")
	if errors.Is(err, fs.ErrNotExist) {
		return own, nil
	}
	if err != nil {
		return nil, err
	}
	return dotgit.NewRepositoryFilesystem(own, regularFiles{osfs.New(relativeTo(gitDir, common), osfs.WithBoundOS())}), nil
}

// readPointer reads a file of one line and returns the text after prefix.
func readPointer(file, prefix string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() { // opening a named pipe would wait for a writer
		return "", fmt.Errorf("%s is not a regular file", file)
	}
	line, err := remote.ReadSmallFile(file)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(line), "\r\n"), prefix)
	if !ok || target == "" {
		return "", fmt.Errorf("%s: want one line of %q and a name", file, prefix)
	}
	return target, nil
}

func relativeTo(dir, target string) string {
	if filepath.IsAbs(target) {
		return target
	}
	return filepath.Join(dir, target)
}

// A FormatError means that a repository has a format that this package does not read.
type FormatError = remote.FormatError

// checkFormat returns a *FormatError for a repository whose objects or refs go-git cannot read correctly.
func checkFormat(st *filesystem.Storage) error {
	cfg, err := st.Config()
	if err != nil {
		return fmt.Errorf("read config: %w", err)
	}
	ext := cfg.Raw.Section("extensions")
	if f := ext.Option("objectformat"); f != "" && !strings.EqualFold(f, "sha1") {
		return &FormatError{Reason: fmt.Sprintf("object format %q is not supported, want sha1", f), Remedy: remote.SHA256Remedy}
	}
	if f := ext.Option("refstorage"); f != "" && !strings.EqualFold(f, "files") {
		return &FormatError{
			Reason: fmt.Sprintf("ref storage %q is not supported, want files", f),
			Remedy: "convert it with git 2.46 or later: git refs migrate --ref-format=files",
		}
	}
	return nil
}
