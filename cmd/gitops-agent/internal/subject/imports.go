package subject

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/manifest"
)

// readImports adds the files of the folders that the Cluster in a directory imports. A folder that is not there, or that is outside of the repository of the
// directory, has no files: the parser reports it with its position.
func (f *folder) readImports(ctx context.Context) error {
	for _, prefix := range manifest.Imports(f.files) {
		relative, err := filepath.Rel(cmp.Or(f.prefix, "."), prefix)
		if err != nil || filepath.IsLocal(relative) {
			continue // read already
		}
		dir := filepath.Join(f.dir, relative)
		link, inside := locate(f.dir, dir)
		if link != "" {
			return &gitsource.TreeError{Path: prefix, Reason: "symbolic link"}
		}
		if !inside {
			continue
		}
		imported := folder{dir: dir, prefix: prefix, imported: true, size: f.size}
		if err := imported.read(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		f.size = imported.size
		for _, file := range imported.files {
			if !slices.ContainsFunc(f.files, func(known manifest.File) bool { return known.Path == file.Path }) {
				f.files = append(f.files, file)
			}
		}
	}
	return nil
}

// locate reports whether a folder is inside of the repository that a directory belongs to, and the symbolic link through which its path leads, or "". A
// directory that belongs to no repository has no such bound.
func locate(dir, folder string) (link string, inside bool) {
	to, err := filepath.Abs(folder)
	if err != nil {
		return "", false
	}
	root, found := repositoryRoot(dir)
	if !found {
		return "", true
	}
	relative, err := filepath.Rel(root, to)
	if err != nil || !filepath.IsLocal(relative) {
		return "", false
	}
	at := root
	for name := range strings.SplitSeq(relative, string(filepath.Separator)) {
		at = filepath.Join(at, name)
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return at, true
		}
	}
	return "", true
}

// repositoryRoot returns the root of the repository that a directory belongs to, and whether it belongs to one.
func repositoryRoot(dir string) (root string, found bool) {
	root, err := filepath.Abs(dir)
	for ; err == nil; root = filepath.Dir(root) {
		if exists(filepath.Join(root, ".git")) {
			return root, true
		}
		if root == filepath.Dir(root) {
			break
		}
	}
	return "", false
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
