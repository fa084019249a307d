package adoption

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"gitops-agent/cmd/gitops-agent/internal/subject"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/manifest"
)

// conflicts hold the guests that are managed already, and the names that are in use.
type conflicts struct {
	state    journal.State
	accepted map[int]manifest.Guest // by vmid
	drafts   map[int]manifest.Guest // in the directory to write to
	labels   map[string]bool

	objects, draftObjects map[ObjectName]kind.Desired // in the same way, of objects that are no guests
	sets                  map[string]bool             // names of sets
}

// newConflicts reads the agent's journal, the revision that it accepted last, and the manifests in the directory to write to. If the
// repository cannot be read, it prints a note and continues.
func newConflicts(ctx context.Context, config agent.Config, notes io.Writer, dir string) (*conflicts, error) {
	reader := subject.Reader{Config: config, Notes: notes}
	c := &conflicts{accepted: map[int]manifest.Guest{}, drafts: map[int]manifest.Guest{}, labels: map[string]bool{}, objects: map[ObjectName]kind.Desired{}, draftObjects: map[ObjectName]kind.Desired{}, sets: map[string]bool{}}
	var err error
	c.state, err = config.JournalState(ctx)
	switch {
	case errors.As(err, new(*journal.DamageError)):
		reader.Note("the journal is damaged (%v): guests of this agent may be recognised only by their tag", err)
	case err != nil && !errors.Is(err, fs.ErrNotExist): // without a journal the agent owns no guest
		return nil, err
	}
	if c.state.Accepted != nil {
		accepted, err := reader.Accepted(ctx, c.state)
		if err != nil {
			reader.Note("the accepted manifests cannot be read: %v", err)
		}
		c.take(c.accepted, c.objects, accepted.Set)
	}
	if dir == "" {
		return c, nil
	}
	set, err := subject.ReadDirs(ctx, []string{dir})
	switch {
	case errors.Is(err, fs.ErrNotExist): // write creates it
	case err != nil && !errors.As(err, new(*manifest.Problems)):
		return nil, err
	default:
		c.take(c.drafts, c.draftObjects, set)
	}
	return c, nil
}

func (c *conflicts) take(into map[int]manifest.Guest, objects map[ObjectName]kind.Desired, set manifest.Set) {
	for _, d := range set.Objects {
		c.labels[d.Label()] = true
		objects[ObjectName{d.Kind, d.ID}] = d
	}
	for _, g := range set.Guests {
		c.labels[g.Label()] = true
		c.sets[g.Set] = true
		if g.VMID != 0 {
			into[g.VMID] = g
		}
	}
}

// check returns an error if a guest is managed already. A manifest in the directory is not a conflict if overwrite is set.
func (c *conflicts) check(o guest.Observed, overwrite bool) error {
	owned, isOwned := c.state.Owned[o.VMID]
	accepted, isAccepted := c.accepted[o.VMID]
	draft, isDraft := c.drafts[o.VMID]
	marks := guest.Markers(o.Keys["tags"].Text)
	switch {
	case isOwned:
		return fmt.Errorf("is managed by this agent already, as %s/%s", owned.Kind, owned.Name)
	case isAccepted:
		return fmt.Errorf("is named by %s at %s in the accepted revision", accepted.Label(), accepted.Origin)
	case len(marks) > 0:
		return term.WithHint(fmt.Errorf("has the tag %s: another agent manages it, or it is a copy of a managed guest", marks[0]),
			"remove the tag if no agent manages the guest")
	case isDraft && draft.Set != "":
		return term.WithHint(fmt.Errorf("is a member of GuestSet/%s at %s already", draft.Set, draft.Origin), "remove its row, and adopt it again")
	case isDraft && !overwrite:
		return term.WithHint(fmt.Errorf("is named by %s at %s already", draft.Label(), draft.Origin), "--force overwrites the file")
	default:
		return nil
	}
}

// hasSet reports whether a set has a name.
func (c *conflicts) hasSet(name string) bool { return c.sets[name] }

// name returns a guest's name in the repository, and reserves it.
func (c *conflicts) name(o guest.Observed) string {
	if draft, there := c.drafts[o.VMID]; there && draft.Kind == o.Kind {
		return draft.Name
	}
	name := manifest.AdoptName(o, c.labels)
	c.labels[guest.Ref{Kind: o.Kind, Name: name}.Label()] = true
	return name
}
