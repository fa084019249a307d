package manifestview

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/manifest"
)

// A Rendering is one guest with all inherited values, and its JSON form.
type Rendering struct {
	SchemaVersion int                `json:"schemaVersion"`
	Kind          string             `json:"kind"`
	Name          string             `json:"name"`
	Labels        map[string]string  `json:"labels,omitempty"`
	Set           string             `json:"set,omitempty"` // the GuestSet that describes the guest
	File          string             `json:"file"`
	Line          int                `json:"line"`
	Classes       []string           `json:"classes"` // below the spec, first to last
	Values        []renderedValue    `json:"values"`
	Policies      []manifest.Finding `json:"policies,omitempty"` // what policies of the source say of the guest

	guest manifest.Guest
}

type renderedValue struct {
	Path   string          `json:"path"`
	Value  json.RawMessage `json:"value"`
	File   string          `json:"file"`
	Line   int             `json:"line"`
	Column int             `json:"column"`
}

// NewRendering returns a guest with its values, and with what policies of the source say of it.
func NewRendering(set manifest.Set, g manifest.Guest) Rendering {
	r := Rendering{
		SchemaVersion: term.SchemaVersion, Kind: string(g.Kind), Name: g.Name, Labels: g.Labels, Set: g.Set, File: g.Origin.File, Line: g.Origin.Line,
		Classes: append([]string{}, g.Classes...), Values: []renderedValue{}, guest: g,
	}
	for _, v := range g.Values() {
		r.Values = append(r.Values, renderedValue{v.Path, v.JSON, v.Origin.File, v.Origin.Line, v.Origin.Column})
	}
	for _, f := range set.Findings() {
		if f.Guest == g.Label() {
			r.Policies = append(r.Policies, f)
		}
	}
	return r
}

// WriteText prints the guest as one manifest, with the file and line of each value, and as comments what policies say of it.
func (r Rendering) WriteText(out io.Writer) error {
	text, err := r.guest.Render()
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		_, _ = fmt.Fprintln(out, term.Printable(strings.TrimSuffix(line, "\n")))
	}
	for _, f := range r.Policies {
		_, _ = fmt.Fprintln(out, term.Printable("# policy "+f.Finding.String()))
	}
	return nil
}
