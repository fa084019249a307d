package adoption

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/manifest"
)

// ObjectName names an object that is no guest: "Pool/prod/web", or "Pool/*" for every object of the kind that no agent and no manifest manages.
type ObjectName struct {
	Kind guest.Kind
	ID   string
}

// ParseObjectName reads the name of an object. It returns false if the text does not begin with a kind of package kinds.
func ParseObjectName(text string) (ObjectName, bool) {
	name, id, found := strings.Cut(text, "/")
	_, known := kinds.Of(guest.Kind(name))
	return ObjectName{guest.Kind(name), id}, found && known && id != ""
}

// String returns "Pool/prod/web".
func (n ObjectName) String() string { return string(n.Kind) + "/" + n.ID }

// ObjectResult holds the manifests of objects that were written, and the objects that were refused.
type ObjectResult struct {
	done    []adoptedObject
	refused []refusedObject
	toFiles bool
	hint    func(error) string
}

type adoptedObject struct {
	manifest.AdoptedObject
	object ObjectName
	file   string // "" for standard output
}

func (o adoptedObject) label() string { return string(o.object.Kind) + "/" + o.Name }

type refusedObject struct {
	object ObjectName
	err    error
}

// RunObjects reads objects and writes their manifests. Its error is about all objects; ObjectResult.Err is about single ones.
func RunObjects(ctx context.Context, opts Options, names []ObjectName) (ObjectResult, error) {
	conflicts, err := newConflicts(ctx, opts.Config, opts.Notes, opts.Dir)
	if err != nil {
		return ObjectResult{}, err
	}
	client, err := opts.Config.ProxmoxReader(opts.Logger)
	if err != nil {
		return ObjectResult{}, err
	}
	defer client.Close()
	a := objectAdopter{adopter: adopter{opts: opts}, conflicts: conflicts, result: ObjectResult{toFiles: opts.Dir != "", hint: opts.Hint}}
	for _, k := range kinds.All() {
		if err := a.adoptKind(ctx, client, k, names); err != nil {
			return ObjectResult{}, err
		}
	}
	return a.result, nil
}

// objectAdopter writes the manifests of the objects of one command line.
type objectAdopter struct {
	adopter
	conflicts *conflicts
	result    ObjectResult
}

// adoptKind adopts the named objects of a kind, each once, sorted by id.
func (a *objectAdopter) adoptKind(ctx context.Context, reader cluster.ObjectReader, k *kind.Kind, names []ObjectName) error {
	named := make(map[string]bool) // by id: whether the command line has it, and not only the pattern
	all := false
	for _, n := range names {
		switch {
		case n.Kind != k.Name:
		case n.ID == "*":
			all = true
		default:
			named[n.ID] = true
		}
	}
	if len(named) == 0 && !all {
		return nil
	}
	objects, err := reader.Objects(ctx, k.Name, slices.Sorted(maps.Keys(named)))
	if err != nil {
		return fmt.Errorf("read %s: %w", k.Plural, err)
	}
	if all && len(named) > 0 { // a reading with ids may have only these
		listed, err := reader.Objects(ctx, k.Name, nil)
		if err != nil {
			return fmt.Errorf("read %s: %w", k.Plural, err)
		}
		maps.Copy(objects, listed)
	}
	if all {
		for id := range objects {
			if _, has := named[id]; !has {
				named[id] = false
			}
		}
	}
	skipped := 0
	for _, id := range slices.Sorted(maps.Keys(named)) {
		name := ObjectName{k.Name, id}
		live, exists := objects[id]
		err := a.conflicts.checkObject(k, name, live, a.opts.Force)
		switch {
		case err != nil && !named[id]:
			skipped++
		case err != nil:
			a.result.refused = append(a.result.refused, refusedObject{name, err})
		case !exists:
			a.result.refused = append(a.result.refused, refusedObject{name, errors.New("does not exist")})
		default:
			a.adoptObject(k, name, live)
		}
	}
	if skipped > 0 {
		_, _ = fmt.Fprintf(a.opts.Notes, "gitops-agent: note: skipped %s that an agent or a manifest manages already, or that the agent keeps for itself\n", term.Count(skipped, k.Noun))
	}
	return nil
}

func (a *objectAdopter) adoptObject(k *kind.Kind, name ObjectName, live cluster.Object) {
	free := manifest.AdoptObjectName(k, name.ID, a.conflicts.labels)
	if draft, there := a.conflicts.draftObjects[name]; there {
		free = draft.Name
	}
	adopted, err := manifest.AdoptObject(k, live, a.opts.Config.Cluster.Name, free)
	done := adoptedObject{AdoptedObject: adopted, object: name}
	if err == nil {
		done.file, err = a.write(string(k.Name)+"-"+free, adopted.Data)
	}
	if err != nil {
		a.result.refused = append(a.result.refused, refusedObject{name, err})
		return
	}
	a.conflicts.labels[done.label()] = true
	a.result.done = append(a.result.done, done)
}

// checkObject returns an error if an object is managed already, or may not be managed. A manifest in the directory is not a conflict if overwrite is set.
func (c *conflicts) checkObject(k *kind.Kind, name ObjectName, live cluster.Object, overwrite bool) error {
	if k.Reserved != nil {
		if why := k.Reserved(name.ID); why != "" {
			return errors.New("cannot be described: " + why)
		}
	}
	if owned, isOwned := c.state.Objects[journal.ObjectID{Kind: string(name.Kind), ID: name.ID}]; isOwned {
		return fmt.Errorf("is managed by this agent already, as %s/%s", owned.Kind, owned.Name)
	}
	if accepted, found := c.objects[name]; found {
		return fmt.Errorf("is described by %s at %s in the accepted revision", accepted.Label(), accepted.Origin)
	}
	if draft, found := c.draftObjects[name]; found && !overwrite {
		return term.WithHint(fmt.Errorf("is described by %s at %s already", draft.Label(), draft.Origin), "--force overwrites the file")
	}
	if _, marker := kind.SplitComment(live.Keys[k.Note.Key]); marker != "" {
		return term.WithHint(fmt.Errorf("has the marker %s: another agent manages it", marker), "remove this word from its comment if no agent manages it")
	}
	return nil
}

// Err returns an error that names the refused objects, or nil.
func (r ObjectResult) Err() error {
	var lines []error
	hint := ""
	for _, o := range r.refused {
		lines = append(lines, fmt.Errorf("%s %w", o.object, o.err))
		hint = cmp.Or(hint, r.hint(o.err))
	}
	if len(lines) == 0 {
		return nil
	}
	return term.WithHint(errors.Join(lines...), hint)
}

// WriteText prints the manifests, or a table of their files.
func (r ObjectResult) WriteText(out io.Writer) error {
	if !r.toFiles {
		for i, o := range r.done {
			if i > 0 {
				_, _ = fmt.Fprintln(out, "---")
			}
			if _, err := out.Write(o.Data); err != nil {
				return fmt.Errorf("write manifest: %w", err)
			}
		}
		return nil
	}
	var t term.Table
	for _, o := range r.done {
		left := ""
		if len(o.Left) > 0 {
			left = "not described: " + strings.Join(o.Left, ", ")
		}
		t.AddText(o.label(), o.object.ID, o.file, left)
	}
	t.Write(out, term.NewPalette(out))
	_, _ = fmt.Fprintf(out, "Adopted %s; %d refused\n", term.Count(len(r.done), "object"), len(r.refused))
	return nil
}

// ObjectDocument is the JSON result.
type ObjectDocument struct {
	SchemaVersion int                 `json:"schemaVersion"`
	Objects       []objectView        `json:"objects"`
	Refused       []refusedObjectView `json:"refused"`
}

type objectView struct {
	Kind     string   `json:"kind"`
	Name     string   `json:"name"`
	ID       string   `json:"id"`
	File     string   `json:"file,omitempty"`
	Manifest string   `json:"manifest"`
	Left     []string `json:"left"` // native keys that the manifest does not describe
}

type refusedObjectView struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"`
}

// Document returns the JSON result.
func (r ObjectResult) Document() ObjectDocument {
	d := ObjectDocument{SchemaVersion: term.SchemaVersion, Objects: []objectView{}, Refused: []refusedObjectView{}}
	for _, o := range r.done {
		d.Objects = append(d.Objects, objectView{
			Kind: string(o.object.Kind), Name: o.Name, ID: o.object.ID, File: o.file, Manifest: string(o.Data), Left: append([]string{}, o.Left...),
		})
	}
	for _, o := range r.refused {
		d.Refused = append(d.Refused, refusedObjectView{string(o.object.Kind), o.object.ID, o.err.Error(), r.hint(o.err)})
	}
	return d
}
