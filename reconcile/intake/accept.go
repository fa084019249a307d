package intake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/plan"
	"gitops-agent/verify"
)

// Accepted is a verified revision whose manifests parse and whose Cluster is the cluster of this agent. Only Accept makes a valid one. The zero value has
// no guests and is refused everywhere.
type Accepted struct {
	revision verify.Revision
	set      manifest.Set
	guests   []guest.Desired // the guests of set, with the vmids in assigned and the nodes in placed
	lowered  []guest.Desired // the same without the nodes
	assigned map[string]int  // vmids by label, for guests whose manifests contain no vmid
	placed   map[int]journal.Placed
	trace    trace // what the new commits introduced
}

// Valid reports whether the value holds a verified revision.
func (a Accepted) Valid() bool { return a.revision.Valid() }

// Revision returns the verified revision.
func (a Accepted) Revision() verify.Revision { return a.revision }

// Set returns the manifests of the revision.
func (a Accepted) Set() manifest.Set { return a.set }

// Guests returns the desired guests, in the order of the manifests. The caller must not change them.
func (a Accepted) Guests() []guest.Desired { return a.guests }

// Assign returns the revision with guests that have the vmids assigned in the journal, and the nodes that were chosen. It lowers the manifests again only
// if an assignment has changed, and makes no new slice of guests if a choice has not changed either. It fails if two guests would have the same vmid.
func (a Accepted) Assign(state journal.State) (Accepted, error) {
	assigned := plan.AssignedLabels(a.set, state)
	isLowered := a.guests != nil && maps.Equal(assigned, a.assigned)
	if isLowered && maps.Equal(a.placed, state.Placed) {
		return a, nil
	}
	if !isLowered {
		guests, err := a.set.Lower(assigned)
		if err != nil {
			return a, err
		}
		a.lowered, a.assigned = guests, assigned
	}
	a.guests, a.placed = plan.WithNodes(a.lowered, state.Placed), state.Placed
	return a, nil
}

// Accept reads and checks the manifests of a verified revision. A refusal is a *RefusedError. Any other error means that the revision was not
// verified or could not be read. A revision with the tree that is in force, such as one of orders, is read as it was accepted. Earlier is the revision in
// force, whose manifests need not be parsed again. With recorded, the changes of every commit are found, so that the journal can record who introduced
// what; manifests with policies ask for that too. With guarded, guards are in force, so those that commits below the tip ask for are found.
func Accept(ctx context.Context, repo *gitsource.Repository, rev verify.Revision, scope Scope, earlier Accepted, recorded, guarded bool) (Accepted, error) {
	if !rev.Valid() {
		return Accepted{}, errors.New("accept a revision that was not verified")
	}
	read := Load
	if rev.IsUnchanged() {
		read = LoadAccepted
	}
	set, err := read(ctx, repo, rev.Commit(), rev.Tree(), scope)
	if err != nil {
		return Accepted{}, err
	}
	recorded = recorded || len(set.Policies) > 0
	t := tracer{repo: repo, scope: scope, all: recorded, passes: guarded && passesSigners(rev.Commits()), known: map[gitsource.ID]manifest.Set{rev.Tree(): set}, entered: make(map[journal.Label][][]string)}
	if earlier.Valid() {
		t.known[earlier.revision.Tree()] = earlier.set
	}
	commits, err := t.follow(ctx, rev)
	if err != nil {
		return Accepted{}, err
	}
	accepted := Accepted{revision: rev, set: set, trace: trace{recorded, commits, t.entered}}
	accepted.trace.recorded = recorded || len(accepted.policies()) > 0
	return accepted, nil
}

// Warnings returns the warnings of the manifests with their positions: the first ten, and then the number of the others.
func (a Accepted) Warnings() []string {
	const most = 10
	var out []string
	all := slices.Concat(a.set.Warnings, a.set.Secrets, a.set.Mistakes)
	for i, w := range all {
		if i == most {
			return append(out, fmt.Sprintf("and %d more: gitops-agent validate lists them", len(all)-i))
		}
		out = append(out, w.String())
	}
	return out
}

// record returns the journal record of an acceptance.
func (a Accepted) record(sequence uint64) journal.Accepted {
	signer := a.revision.Signer()
	return journal.Accepted{
		Commit: string(a.revision.Commit()), Tree: string(a.revision.Tree()), Branch: a.revision.Branch(),
		ProvenTime: a.revision.ProvenTime(), Sequence: sequence, Subject: signer.Subject, Issuer: signer.Issuer,
	}
}

// guardInput returns the revision with guards in force.
func (a Accepted) guardInput(state journal.State, minimum guard.Minimum, at time.Time) guard.Input {
	return guard.Input{Cluster: a.set.Cluster, Guests: a.guests, Policies: a.set.Policies, State: state, Minimum: minimum, At: at}
}
