package intake

import (
	"context"
	"errors"
	"strings"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/encrypted"
	"gitops-agent/reconcile/manifest"
)

// The most that the manifests of a tree may have together, with those that its Cluster imports.
const (
	maxManifestBytes = 64 << 20
	maxManifests     = 10_000
)

// ManifestFiles reads the manifests of a tree, in some folders and files or in the whole tree, and in the folders that their Cluster imports. With them are
// files that are manifests by their content alone, of which the parser warns. Encrypted files are none. An import that the tree does not have, or that leads out of it, has no files: the parser reports it with its position.
func ManifestFiles(ctx context.Context, repo *gitsource.Repository, tree gitsource.ID, paths []string) ([]manifest.File, error) {
	r := manifestReader{repo: repo, tree: tree, known: make(map[string]bool)}
	if err := r.read(ctx, paths, false); err != nil {
		return nil, err
	}
	var folders []string
	for _, folder := range manifest.Imports(r.files) {
		outside := folder == ".." || strings.HasPrefix(folder, "../")
		if !outside && !manifest.InFolders(folder, paths) {
			folders = append(folders, folder)
		}
	}
	for _, folder := range folders {
		if err := r.read(ctx, []string{folder}, true); err != nil && !errors.Is(err, gitsource.ErrNoPath) {
			return nil, err
		}
	}
	return append(r.files, r.misnamed...), nil
}

// manifestReader collects files within the bounds of all of them together.
type manifestReader struct {
	repo  *gitsource.Repository
	tree  gitsource.ID
	files []manifest.File
	known map[string]bool // paths of the files

	misnamed []manifest.File
	size     int64
}

func (r *manifestReader) read(ctx context.Context, paths []string, imported bool) error {
	found, err := r.repo.Files(ctx, r.tree, gitsource.TreeOptions{
		Paths: paths, Suffixes: manifest.Suffixes(), Skipped: []string{encrypted.SOPS.Suffix()},
		OtherSuffixes: manifest.OtherSuffixes(), Other: func(f gitsource.File) {
			if file := (manifest.File{Path: f.Path, Data: f.Data, Imported: imported}); file.IsMisnamed() {
				r.misnamed = append(r.misnamed, file)
			}
		},
		MaxTotal: max(1, maxManifestBytes-r.size), MaxFiles: max(1, maxManifests-len(r.files)), // 0 is the default
	})
	if err != nil {
		return err
	}
	for _, f := range found {
		if r.known[f.Path] {
			continue // folders may overlap
		}
		r.known[f.Path] = true
		r.size += int64(len(f.Data))
		r.files = append(r.files, manifest.File{Path: f.Path, Data: f.Data, Imported: imported})
	}
	return nil
}
