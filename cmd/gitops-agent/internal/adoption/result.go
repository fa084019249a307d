package adoption

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest"
)

// A Result holds the manifests that were written, and the guests that were refused.
type Result struct {
	done    []adoptedGuest
	sets    []adoptedSet
	refused []refusedGuest
	toFiles bool
	hint    func(error) string
}

// adoptedGuest is a guest with its manifest, and the file of the manifest.
type adoptedGuest struct {
	manifest.Adopted
	set  string // the set that describes it; "" if it has a manifest of its own
	file string // "" for standard output
}

// refusedGuest is a guest for which no manifest was written.
type refusedGuest struct {
	vmid int
	err  error
}

// label returns the name of an adopted guest in the repository, as KIND/NAME.
func (g adoptedGuest) label() string { return guest.Ref{Kind: g.Kind, Name: g.Name}.Label() }

// Err returns an error that names the refused guests, or nil. Its hint is the first one that a refused guest has.
func (r Result) Err() error {
	if len(r.refused) == 0 {
		return nil
	}
	var lines []error
	hint := ""
	for _, g := range r.refused {
		lines = append(lines, fmt.Errorf("guest %d %w", g.vmid, g.err))
		hint = cmp.Or(hint, r.hint(g.err))
	}
	return term.WithHint(errors.Join(lines...), hint)
}

// WriteText prints the manifests, or a table of their files if they were written to a directory.
func (r Result) WriteText(out io.Writer) error {
	if r.toFiles {
		r.writeFiles(out)
		return nil
	}
	for i, data := range r.documents() {
		if i > 0 {
			_, _ = fmt.Fprintln(out, "---")
		}
		if _, err := out.Write(data); err != nil {
			return fmt.Errorf("write manifest: %w", err)
		}
	}
	return nil
}

// documents returns the manifests: first the sets, then those of guests that are in no set.
func (r Result) documents() [][]byte {
	var out [][]byte
	for _, s := range r.sets {
		out = append(out, s.Data)
	}
	for _, g := range r.done {
		if g.set == "" {
			out = append(out, g.Data)
		}
	}
	return out
}

func (r Result) writeFiles(out io.Writer) {
	var t term.Table
	for _, g := range r.done {
		left := ""
		if len(g.Left) > 0 {
			left = strconv.Itoa(len(g.Left)) + " not pinned, see the comment in the file"
		}
		t.AddText(g.label(), strconv.Itoa(g.VMID), g.file, term.Count(len(g.Pinned), "key")+" pinned", left)
	}
	t.Write(out, term.NewPalette(out))
	inSets := ""
	if len(r.sets) > 0 {
		inSets = ", in " + term.Count(len(r.sets), "set") + " and " + term.Count(len(r.documents())-len(r.sets), "file") + " of their own"
	}
	_, _ = fmt.Fprintf(out, "Adopted %s%s; %d refused\n", term.Count(len(r.done), "guest"), inSets, len(r.refused))
}

// Document is the JSON result.
type Document struct {
	SchemaVersion int           `json:"schemaVersion"`
	Guests        []guestView   `json:"guests"`
	Sets          []setView     `json:"sets,omitempty"` // only with --as-set
	Refused       []refusedView `json:"refused"`
}

type guestView struct {
	Kind     string     `json:"kind"`
	Name     string     `json:"name"`
	VMID     int        `json:"vmid"`
	File     string     `json:"file,omitempty"`
	Set      string     `json:"set,omitempty"`      // the set that describes it
	Manifest string     `json:"manifest,omitempty"` // absent for a member of a set
	Pinned   []string   `json:"pinned"`
	Left     []leftView `json:"left"`
}

type setView struct {
	Name     string   `json:"name"`
	File     string   `json:"file,omitempty"`
	Manifest string   `json:"manifest"`
	Members  []string `json:"members"` // labels
}

type leftView struct {
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

type refusedView struct {
	VMID   int    `json:"vmid"`
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"`
}

// Document returns the JSON result.
func (r Result) Document() Document {
	d := Document{SchemaVersion: term.SchemaVersion, Guests: []guestView{}, Refused: []refusedView{}}
	for _, g := range r.done {
		view := guestView{
			Kind: string(g.Kind), Name: g.Name, VMID: g.VMID, File: g.file, Set: g.set, Pinned: g.Pinned, Left: []leftView{},
		}
		if g.set == "" {
			view.Manifest = string(g.Data)
		}
		for _, l := range g.Left {
			view.Left = append(view.Left, leftView{l.Key, l.Reason})
		}
		d.Guests = append(d.Guests, view)
	}
	for _, s := range r.sets {
		view := setView{Name: s.Name, File: s.file, Manifest: string(s.Data)}
		for _, g := range s.Members {
			view.Members = append(view.Members, g.Label())
		}
		d.Sets = append(d.Sets, view)
	}
	for _, g := range r.refused {
		d.Refused = append(d.Refused, refusedView{g.vmid, g.err.Error(), r.hint(g.err)})
	}
	return d
}
