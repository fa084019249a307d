package intake

import (
	"context"
	"errors"
	"fmt"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/report"
)

// RefusedError is a verified revision that the agent does not accept. Reason is one of a fixed list of reasons.
type RefusedError struct {
	Commit gitsource.ID
	Reason string
	Hint   string
	Err    error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("refuse %.7s: %v", e.Commit, e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// Scope selects the part of a repository that belongs to this agent.
type Scope struct {
	Cluster string   // name that the Cluster manifest must have
	Paths   []string // folders or files to read; if empty, the whole tree is read
}

// Load reads and parses the manifests of a tree. It does not check trust: its result can be planned, but not applied.
func Load(ctx context.Context, repo *gitsource.Repository, commit, tree gitsource.ID, scope Scope) (manifest.Set, error) {
	return load(ctx, repo, commit, tree, scope, manifest.Parse)
}

// LoadAccepted is Load for a tree that was accepted before, perhaps by an older release: see manifest.ParseAccepted.
func LoadAccepted(ctx context.Context, repo *gitsource.Repository, commit, tree gitsource.ID, scope Scope) (manifest.Set, error) {
	return load(ctx, repo, commit, tree, scope, manifest.ParseAccepted)
}

// treeHint returns the remedy for a tree that cannot be read because of what it contains, so that another attempt fails too; otherwise "".
func treeHint(err error) string {
	switch {
	case errors.As(err, new(*gitsource.TreeError)):
		return "remove the entry from the repository, or leave its folder out of source.paths"
	case errors.Is(err, gitsource.ErrTooLarge):
		return "remove or split what is too large, or select the folders with manifests by source.paths"
	case errors.Is(err, gitsource.ErrNoPath):
		return "add the folder to the repository, or remove it from source.paths"
	}
	return ""
}

// load is Load with a function that parses the files.
func load(ctx context.Context, repo *gitsource.Repository, commit, tree gitsource.ID, scope Scope, parse func([]manifest.File) (manifest.Set, error)) (manifest.Set, error) {
	files, err := ManifestFiles(ctx, repo, tree, scope.Paths)
	if hint := treeHint(err); hint != "" {
		return manifest.Set{}, &RefusedError{Commit: commit, Reason: report.RefusedTree, Err: err, Hint: hint}
	}
	if err != nil {
		return manifest.Set{}, fmt.Errorf("read tree of %.7s: %w", commit, err)
	}
	set, err := parse(files)
	if err != nil {
		return manifest.Set{}, refuseManifests(commit, err)
	}
	if len(scope.Paths) > 1 {
		set.WarnOfEmpty(scope.Paths, files)
	}
	if set.Cluster.Name != scope.Cluster {
		return manifest.Set{}, &RefusedError{
			Commit: commit, Reason: report.RefusedCluster,
			Err:  fmt.Errorf("%s: the Cluster is named %q, but this agent manages %q", set.Cluster.Origin, set.Cluster.Name, scope.Cluster),
			Hint: "point this agent at the repository of its own cluster, or correct cluster.name in its config",
		}
	}
	secrets, err := encryptedFiles(ctx, repo, tree, set.EncryptedFiles(), scope)
	if err != nil {
		return manifest.Set{}, fmt.Errorf("read tree of %.7s: %w", commit, err)
	}
	if set, err = set.WithEncrypted(secrets); err != nil {
		return manifest.Set{}, refuseManifests(commit, err)
	}
	return set, nil
}

func refuseManifests(commit gitsource.ID, err error) error {
	return &RefusedError{Commit: commit, Reason: report.RefusedManifests, Err: err, Hint: "gitops-agent validate DIR shows the same before a commit"}
}
