package manifest

import (
	"cmp"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// newDocument reads the fields that every kind has. It returns nil if the rest cannot be understood.
func newDocument(n *tree.Node, r *report) *document { return newDocumentOf(n, r, kindNames) }

// newDocumentOf reads a document of one of some kinds.
func newDocumentOf(n *tree.Node, r *report, kindNames []string) *document {
	doc := &document{at: n.At, from: documentKey{node: n}}
	doc.prefillLabel(n)
	before := r.count
	decodeObject(newDecoder(r, doc.label(), nil), n, doc)
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
		return problem("kind", n.At, "got none, want one of "+strings.Join(kindNames, ", "), "")
	case !slices.Contains(kindNames, kind):
		return problem("kind", doc.kind.at, "got "+tree.Quote(kind)+", want one of "+strings.Join(kindNames, ", "), didYouMean(cmp.Or(synonym(kind, kindNames), closest(kind, kindNames))))
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
