package intake

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
	"gitops-agent/verify"
)

// Accepted is a verified revision whose manifests parse and whose Cluster is this agent's. Only Accept makes a valid one. The zero value has
// no guests and is refused everywhere.
type Accepted struct {
	revision verify.Revision
	set      manifest.Set
	guests   []guest.Desired // of set, with the vmids of assigned
	assigned map[string]int  // vmids by label, of guests whose manifests name none
}

// Valid reports whether the value holds a verified revision.
func (a Accepted) Valid() bool { return a.revision.Valid() }

// Revision returns the verified revision.
func (a Accepted) Revision() verify.Revision { return a.revision }

// Set returns the manifests of the revision.
func (a Accepted) Set() manifest.Set { return a.set }

// Guests returns the desired guests, in the order of the manifests. The caller must not change them.
func (a Accepted) Guests() []guest.Desired { return a.guests }

// Assign returns the revision with its guests lowered under the vmids that the journal assigns. It lowers them only if an assignment has
// changed. It fails if two guests would have one vmid.
func (a Accepted) Assign(state journal.State) (Accepted, error) {
	assigned := plan.AssignedLabels(a.set, state)
	if a.guests != nil && maps.Equal(assigned, a.assigned) {
		return a, nil
	}
	guests, err := a.set.Lower(assigned)
	if err != nil {
		return a, err
	}
	a.guests, a.assigned = guests, assigned
	return a, nil
}

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

// Accept reads the revision's manifests. Every refusal is a *RefusedError; other errors are of reading.
func Accept(ctx context.Context, repo *gitsource.Repository, rev verify.Revision, scope Scope) (Accepted, error) {
	if !rev.Valid() {
		return Accepted{}, errors.New("accept a revision that was not verified")
	}
	set, err := Load(ctx, repo, rev.Commit(), rev.Tree(), scope)
	if err != nil {
		return Accepted{}, err
	}
	if err := checkGuestScopes(ctx, repo, rev, scope); err != nil {
		return Accepted{}, err
	}
	return Accepted{revision: rev, set: set}, nil
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

// Warnings returns what the manifests warn of, with their places; what nobody would read to the end is counted.
func (a Accepted) Warnings() []string {
	const most = 10
	var out []string
	for i, w := range a.set.Warnings {
		if i == most {
			return append(out, fmt.Sprintf("and %d more: gitops-agent validate lists them", len(a.set.Warnings)-i))
		}
		out = append(out, w.String())
	}
	return out
}

// record returns what the journal keeps of an acceptance.
func (a Accepted) record(sequence uint64) journal.Accepted {
	signer := a.revision.Signer()
	return journal.Accepted{
		Commit: string(a.revision.Commit()), Tree: string(a.revision.Tree()), Branch: a.revision.Branch(),
		ProvenTime: a.revision.ProvenTime(), Sequence: sequence, Subject: signer.Subject, Issuer: signer.Issuer,
	}
}
