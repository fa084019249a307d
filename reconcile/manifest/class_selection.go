package manifest

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
	"gitops-agent/verify/scope"
)

// selected returns the classes that select the guest of a document, in the order in which they are merged, without the classes that the guest
// names.
func (c classes) selected(doc *document, folder string, named []string) []string {
	var out []string
	for name, one := range c {
		if !slices.Contains(named, name) && one.selects(doc, folder) {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.order(a), c.order(b)), cmp.Compare(a, b))
	})
	return out
}

// checkSelectors reports paths that no class can select.
func (c classes) checkSelectors(r *report, folder string) {
	for name, one := range c {
		if s := &one.spec.selects; s.set {
			s.value.checkReach(decoder{report: r, label: kindClass + "/" + name}, path.Dir(one.at.File), folder)
		}
	}
}

// classesOf returns the classes of a guest in the order in which they are merged: those that select it, then those that it names.
func (p *parser) classesOf(doc *document, own *tree.Node) (selected, named []string) {
	named = p.namedClasses(own, guest.Kind(doc.kind.value), doc.label())
	return p.classes.selected(doc, p.folder(), named), named
}

// namedClasses returns the classes that a guest names. They are read before the other fields, which depend on them.
func (p *parser) namedClasses(own *tree.Node, kind guest.Kind, label string) []string {
	named := own.Get("class")
	if named == nil || named.IsNull() {
		return nil
	}
	var uses textList
	d := decoder{report: p.report, label: label}.below("class")
	list(&uses, className, "").decode(d, named)
	p.classes.checkNames(d, uses)
	for _, name := range uses.value {
		if c := p.classes[name.value]; c != nil && p.classes.inherited(name.value, kind) == nil {
			d.path = name.path
			d.problem(name.at, fmt.Sprintf("class %s has no fields for a %s", name.value, kind), "it is at "+c.at.String())
		}
	}
	for _, name := range texts(uses) {
		p.named[name] = true
	}
	return texts(uses)
}

// selects reports whether the class selects the guest of a document.
func (c *class) selects(doc *document, folder string) bool {
	return c.spec.selects.set && scope.IsWithin(doc.at.File, path.Dir(c.at.File)) && c.spec.selects.value.matches(doc, folder)
}
