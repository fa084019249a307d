package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/reconcile/encrypted"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// Bounds of a working copy, the same as those of the agent for a commit.
const (
	maxFolderFile  = 1 << 20  // bytes
	maxFolderTotal = 64 << 20 // bytes
	maxFolderFiles = 10_000
	maxLookedAt    = 4 << 20 // bytes of files with other endings
)

// ReadDirs reads and parses directories as one source. It returns a *manifest.Problems for manifests that the agent would refuse.
func ReadDirs(ctx context.Context, dirs []string) (manifest.Set, error) {
	folders := make([]folder, 0, len(dirs))
	for _, dir := range dirs {
		folders = append(folders, folder{dir: dir, prefix: typedPrefix(dir, len(dirs) > 1)})
	}
	return read(ctx, folders, manifest.Parse)
}

// parser reads manifests: manifest.Parse, or manifest.ParseEarlier for a tree with which another one is compared.
type parser func([]manifest.File) (manifest.Set, error)

// read parses folders as one source.
func read(ctx context.Context, folders []folder, parse parser) (manifest.Set, error) {
	files, err := readFolders(ctx, folders)
	var unfit *gitsource.TreeError
	if errors.As(err, &unfit) {
		return manifest.Set{}, &manifest.Problems{List: []manifest.Problem{{
			Origin: guest.Origin{File: unfit.Path, Line: 1, Column: 1}, Message: unfit.Reason + ": the agent refuses a tree that contains one", Hint: "replace it with a copy of its target",
		}}}
	}
	if err != nil {
		return manifest.Set{}, err
	}
	set, err := parse(files)
	if err != nil {
		return set, err
	}
	if len(folders) > 1 {
		prefixes := make([]string, 0, len(folders))
		for _, f := range folders {
			prefixes = append(prefixes, f.prefix)
		}
		set.WarnOfEmpty(prefixes, files)
	}
	if _, err = set.Lower(nil); err != nil {
		return set, err
	}
	set, err = withEncrypted(set, folders)
	if err != nil && !errors.As(err, new(*manifest.Problems)) {
		return set, fmt.Errorf("read the encrypted files: %w", err)
	}
	return set, err
}

// GuestLabels returns the guests of a working copy, for completion, or nil if it cannot be read.
func GuestLabels(ctx context.Context, dir string) []string {
	set, err := ReadDirs(ctx, []string{cmp.Or(dir, ".")})
	if err != nil {
		return nil
	}
	labels := make([]string, 0, len(set.Guests))
	for _, g := range set.Guests {
		labels = append(labels, g.Label())
	}
	return labels
}

// readFolders reads the YAML files of some folders, like those of source.paths.
func readFolders(ctx context.Context, folders []folder) ([]manifest.File, error) {
	var files, misnamed []manifest.File
	var total int64
	for _, f := range folders {
		if err := f.read(ctx); err != nil {
			return nil, err
		}
		if err := f.readImports(ctx); err != nil {
			return nil, err
		}
		misnamed = append(misnamed, f.misnamed...)
		files, total = append(files, f.files...), total+f.size
		if len(files) > maxFolderFiles || total > maxFolderTotal {
			return nil, fmt.Errorf("read %s: more than %d files or %d MiB", f.dir, maxFolderFiles, maxFolderTotal>>20)
		}
	}
	return append(files, misnamed...), nil
}

// typedPrefix returns what the paths of a directory's files begin with: the directory as the user typed it if that is below the working directory; otherwise
// the paths are relative to the directory. It contains no folder that begins with a dot, because such a folder hides its files.
func typedPrefix(dir string, several bool) string {
	clean := filepath.ToSlash(filepath.Clean(dir))
	hidden := slices.ContainsFunc(strings.Split(clean, "/"), func(name string) bool { return strings.HasPrefix(name, ".") })
	switch {
	case clean == ".":
		return ""
	case filepath.IsLocal(dir) && !hidden:
		return clean
	case several:
		return strings.TrimLeft(path.Base(clean), ".")
	default:
		return ""
	}
}

// folder is one directory being read.
type folder struct {
	dir      string
	prefix   string // of the paths of its files
	imported bool   // a Cluster imports it
	files    []manifest.File
	size     int64

	misnamed []manifest.File // manifests by their content alone
	looked   int64           // bytes of the files that were read to find them
}

func (f *folder) read(ctx context.Context) error {
	root, err := os.OpenRoot(f.dir)
	switch info, unread := os.Stat(f.dir); { // the error of OpenRoot for a file is no ENOTDIR
	case err != nil && unread == nil && !info.IsDir():
		return term.WithHint(fmt.Errorf("read directory: %w", err), "name the folder with all manifests of the cluster, such as "+filepath.Dir(f.dir)+": one file does not show what its guests inherit")
	case err != nil:
		return fmt.Errorf("read directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case entry.IsDir():
			return nil
		case entry.Type()&fs.ModeSymlink != 0:
			return &gitsource.TreeError{Path: path.Join(f.prefix, name), Reason: "symbolic link"}
		case entry.Type().IsRegular() && hasEnding(name, manifest.Suffixes()) && !strings.HasSuffix(name, encrypted.SOPS.Suffix()):
			return f.add(root, name)
		case entry.Type().IsRegular() && hasEnding(name, manifest.OtherSuffixes()):
			return f.look(root, name)
		}
		return nil
	})
	if errors.As(err, new(*gitsource.TreeError)) {
		return err
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", f.dir, err)
	}
	return nil
}

func hasEnding(name string, endings []string) bool {
	return slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(name, ending) })
}

// look adds a file that is a manifest by its content alone. A file that is larger than a manifest may be is none.
func (f *folder) look(root *os.Root, name string) error {
	info, err := root.Stat(name)
	if err != nil || info.Size() > min(maxFolderFile, maxLookedAt-f.looked) {
		return err
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return err
	}
	if file := (manifest.File{Path: path.Join(f.prefix, name), Data: data, Imported: f.imported}); file.IsMisnamed() {
		f.misnamed = append(f.misnamed, file)
	}
	f.looked += int64(len(data))
	return nil
}

func (f *folder) add(root *os.Root, name string) error {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return err
	case info.Size() > maxFolderFile:
		return fmt.Errorf("%s is larger than %d MiB", name, maxFolderFile>>20)
	case f.size+info.Size() > maxFolderTotal || len(f.files) == maxFolderFiles:
		return fmt.Errorf("more than %d files or %d MiB", maxFolderFiles, maxFolderTotal>>20)
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return err
	}
	f.size += int64(len(data))
	f.files = append(f.files, manifest.File{Path: path.Join(f.prefix, name), Data: data, Imported: f.imported})
	return nil
}
