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
	refused []refusedGuest
	toFiles bool
	hint    func(error) string
}

// adoptedGuest is a guest with its manifest, and the file of the manifest.
type adoptedGuest struct {
	manifest.Adopted
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
	for i, g := range r.done {
		if i > 0 {
			_, _ = fmt.Fprintln(out, "---")
		}
		if _, err := out.Write(g.Data); err != nil {
			return fmt.Errorf("write manifest: %w", err)
		}
	}
	return nil
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
	_, _ = fmt.Fprintf(out, "Adopted %s; %d refused\n", term.Count(len(r.done), "guest"), len(r.refused))
}

// Document is the JSON result.
type Document struct {
	SchemaVersion int           `json:"schemaVersion"`
	Guests        []guestView   `json:"guests"`
	Refused       []refusedView `json:"refused"`
}

type guestView struct {
	Kind     string     `json:"kind"`
	Name     string     `json:"name"`
	VMID     int        `json:"vmid"`
	File     string     `json:"file,omitempty"`
	Manifest string     `json:"manifest"`
	Pinned   []string   `json:"pinned"`
	Left     []leftView `json:"left"`
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
			Kind: string(g.Kind), Name: g.Name, VMID: g.VMID, File: g.file, Manifest: string(g.Data), Pinned: g.Pinned, Left: []leftView{},
		}
		for _, l := range g.Left {
			view.Left = append(view.Left, leftView{l.Key, l.Reason})
		}
		d.Guests = append(d.Guests, view)
	}
	for _, g := range r.refused {
		d.Refused = append(d.Refused, refusedView{g.vmid, g.err.Error(), r.hint(g.err)})
	}
	return d
}
