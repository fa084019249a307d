package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/internal/agent"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
)

// keepers know who keeps a guest already, and which names are taken.
type keepers struct {
	state    journal.State
	accepted map[int]manifest.Guest // by vmid
	drafts   map[int]manifest.Guest // in the directory to write to
	labels   map[string]bool
}

// newKeepers reads the agent's journal, the revision that it accepted last, and the manifests in the directory to write to. A
// repository that cannot be read is told, and adopting goes on.
func newKeepers(ctx context.Context, config agent.Config, notes io.Writer, dir string) (*keepers, error) {
	reader := subjectReader{config, notes}
	k := &keepers{accepted: map[int]manifest.Guest{}, drafts: map[int]manifest.Guest{}, labels: map[string]bool{}}
	var err error
	k.state, err = journal.ReadState(config.JournalDir())
	switch {
	case errors.As(err, new(*journal.DamageError)):
		reader.note("the journal is damaged (%v): guests of this agent may be known by their mark alone", err)
	case err != nil && !errors.Is(err, fs.ErrNotExist): // without a journal it owns none
		return nil, err
	}
	if k.state.Accepted != nil {
		subject, err := reader.accepted(ctx, k.state)
		if err != nil {
			reader.note("the accepted manifests cannot be read: %v", err)
		}
		k.take(k.accepted, subject.Set)
	}
	if dir == "" {
		return k, nil
	}
	set, err := readSet(ctx, []string{dir})
	switch {
	case errors.Is(err, fs.ErrNotExist): // it is made later
	case err != nil && !errors.As(err, new(*manifest.Problems)):
		return nil, err
	default:
		k.take(k.drafts, set)
	}
	return k, nil
}

func (k *keepers) take(into map[int]manifest.Guest, set manifest.Set) {
	for _, g := range set.Guests {
		k.labels[g.Label()] = true
		if g.VMID != 0 {
			into[g.VMID] = g
		}
	}
}

// reason returns why a guest is not to be adopted, nil where nobody keeps it. Drafts may be written anew if overwrite says so.
func (k *keepers) reason(o guest.Observed, overwrite bool) error {
	owned, isOwned := k.state.Owned[o.VMID]
	accepted, isAccepted := k.accepted[o.VMID]
	draft, isDraft := k.drafts[o.VMID]
	marks := guest.MarkerTags(guest.Tags(o.Keys["tags"].Text))
	switch {
	case isOwned:
		return fmt.Errorf("is managed by this agent already, as %s/%s", owned.Kind, owned.Name)
	case isAccepted:
		return fmt.Errorf("is named by %s at %s in the accepted revision", accepted.Label(), accepted.Origin)
	case len(marks) > 0:
		return term.WithHint(fmt.Errorf("bears the mark %s: another agent manages it, or it is a copy of a guest that one manages", marks[0]),
			"take the tag off if no agent manages it")
	case isDraft && !overwrite:
		return term.WithHint(fmt.Errorf("is named by %s at %s already", draft.Label(), draft.Origin), "--force writes its file anew")
	default:
		return nil
	}
}

// name returns what a guest is called in the repository, and takes the name.
func (k *keepers) name(o guest.Observed) string {
	if draft, there := k.drafts[o.VMID]; there && draft.Kind == o.Kind {
		return draft.Name
	}
	name := manifest.AdoptName(o, k.labels)
	k.labels[guest.Ref{Kind: o.Kind, Name: name}.Label()] = true
	return name
}
