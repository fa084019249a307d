package intake

import (
	"context"
	"errors"
	"fmt"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/report"
)

// RefusedError is a verified revision that the agent does not accept. Reason is of a closed vocabulary.
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

// Scope says what of a repository belongs to this agent.
type Scope struct {
	Cluster string   // name that the Cluster manifest must bear
	Paths   []string // folders or files that are read; empty is the whole tree
}

// Load reads and parses the manifests of a tree. It decides nothing about trust: what it returns can be planned, not applied.
func Load(ctx context.Context, repo *gitsource.Repository, commit, tree gitsource.ID, scope Scope) (manifest.Set, error) {
	found, err := repo.Files(ctx, tree, gitsource.TreeOptions{Paths: scope.Paths, Suffixes: []string{".yaml", ".yml"}})
	var bad *gitsource.TreeError
	if errors.As(err, &bad) {
		return manifest.Set{}, &RefusedError{Commit: commit, Reason: report.RefusedTree, Err: err, Hint: "remove the entry from the repository, or leave its folder out of source.paths"}
	}
	if err != nil {
		return manifest.Set{}, fmt.Errorf("read tree of %.7s: %w", commit, err)
	}
	files := make([]manifest.File, 0, len(found))
	for _, f := range found {
		files = append(files, manifest.File{Path: f.Path, Data: f.Data})
	}
	set, err := manifest.Parse(files)
	if err != nil {
		return manifest.Set{}, &RefusedError{Commit: commit, Reason: report.RefusedManifests, Err: err, Hint: "gitops-agent validate DIR shows the same before a commit"}
	}
	if set.Cluster.Name != scope.Cluster {
		return manifest.Set{}, &RefusedError{
			Commit: commit, Reason: report.RefusedCluster,
			Err:  fmt.Errorf("%s: the Cluster is called %q, and this agent keeps %q", set.Cluster.Origin, set.Cluster.Name, scope.Cluster),
			Hint: "point this agent at the repository of its own cluster, or correct cluster.name in its config",
		}
	}
	return set, nil
}
