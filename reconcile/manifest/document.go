package manifest

import (
	"cmp"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

const (
	apiGroup   = "proxmox.gitops/"
	apiVersion = apiGroup + "v1alpha1"

	kindCluster = "Cluster"
	kindClass   = "GuestClass"
)

var kinds = []string{kindCluster, kindClass, string(guest.VirtualMachine), string(guest.Container)}

// document contains the fields that every kind has.
type document struct {
	apiVersion, kind opt[string]
	meta             metadata
	spec             *tree.Node // nil if there is none
	at               tree.Position
}

type metadata struct {
	name                opt[string]
	labels, annotations textMap
}

func (d *document) fields() []field {
	return []field{
		{"apiVersion", "", apiVersion + ".", text(&d.apiVersion, anyText)},
		{"kind", "", strings.Join(kinds, ", ") + ".", text(&d.kind, anyText)},
		{"metadata", "", "Name and labels.", group(&d.meta)},
		{"spec", "", "What is wanted.", subtree(&d.spec, "")},
	}
}

func (m *metadata) fields() []field {
	return []field{
		{"name", "", "Name within the repository, unique in its kind.", text(&m.name, dnsName)},
		{"labels", "", "Names and values to select guests by. Not sent to the cluster.", withExamples(dictionary(&m.labels, labelName), `{"tier": "web", "stage": "prod"}`)},
		{"annotations", "", "Names and values for other tools. Not sent to the cluster.", dictionary(&m.annotations, labelName)},
	}
}

var labelName = &textRule{want: "a name", examples: []string{"team", "example.com/team"}, shape: exactly(`[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?`)}

// label names the document in messages and orders: "VirtualMachine/web-1".
func (d *document) label() string {
	if d.kind.value == "" || d.meta.name.value == "" {
		return ""
	}
	return d.kind.value + "/" + d.meta.name.value
}

// newDocument reads the fields that every kind has. It returns nil if the rest cannot be understood.
func newDocument(n *tree.Node, r *report) *document {
	doc := &document{at: n.At}
	doc.prefillLabel(n)
	before := r.count
	decodeObject(decoder{report: r, label: doc.label()}, n, doc)
	unreadable := r.count > before
	if n.Kind != tree.Mapping {
		return nil
	}
	problem := func(field string, at tree.Position, message, hint string) *document {
		r.add(Problem{Origin: guest.Origin(at), Guest: doc.label(), Field: field, Message: message, Hint: hint})
		return nil
	}
	version, kind := doc.apiVersion.value, doc.kind.value
	switch {
	case version == "":
		return problem("apiVersion", n.At, "got none, want "+apiVersion, "")
	case version != apiVersion && strings.HasPrefix(version, apiGroup):
		return problem("apiVersion", doc.apiVersion.at, "got "+tree.Quote(version)+", want "+apiVersion, "a newer agent may understand it")
	case version != apiVersion:
		return problem("apiVersion", doc.apiVersion.at, "got "+tree.Quote(version)+", want "+apiVersion, didYouMean(closest(version, []string{apiVersion})))
	case kind == "":
		return problem("kind", n.At, "got none, want one of "+strings.Join(kinds, ", "), "")
	case !slices.Contains(kinds, kind):
		return problem("kind", doc.kind.at, "got "+tree.Quote(kind)+", want one of "+strings.Join(kinds, ", "), didYouMean(cmp.Or(synonym(kind, kinds), closest(kind, kinds))))
	case doc.meta.name.value == "" && unreadable:
		return nil
	case doc.meta.name.value == "":
		return problem("metadata.name", n.At, "got none, want a name that is unique in its kind", "")
	default:
		return doc
	}
}

// prefillLabel reads kind and name before decoding, so that problems can be reported with the label of their document.
func (d *document) prefillLabel(n *tree.Node) {
	kind, meta := n.Get("kind"), n.Get("metadata")
	if kind == nil || meta == nil {
		return
	}
	d.kind.value = kind.Text
	name := meta.Get("name")
	if meta.Kind == tree.Scalar {
		name = meta // metadata: web-1
	}
	if name != nil && dnsName.ok(name.Text) {
		d.meta.name.value = name.Text
	}
}

// subtree is a row that is decoded later, with the fields of a kind.
func subtree(into **tree.Node, kind string) value { return subtreeValue{into, kind} }

type subtreeValue struct {
	into **tree.Node
	kind string
}

func (v subtreeValue) decode(d decoder, n *tree.Node) {
	if n.Kind != tree.Mapping {
		d.problem(n.At, "got "+n.Describe()+", want a mapping", "")
		return
	}
	*v.into = n
}

func (v subtreeValue) lower(*lowering, string) {}

func (v subtreeValue) schema() *schema { return definition(v.kind) }

func (v subtreeValue) walk(string, func(path string, row field)) {}
