package manifest

import (
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// class is one GuestClass.
type class struct {
	spec     classSpec
	at       tree.Position
	rollout  *guest.Rollout // nil if it has none
	imported bool           // it is in a folder that the Cluster imports, perhaps for another cluster
	// merged contains the values of the class and its base classes, by kind. It is computed once per class. Without that,
	// classes of which each builds twice on the next one would cost exponential time.
	merged  map[guest.Kind]*tree.Node
	merging bool // being merged; a class that reaches itself is a cycle, which check reports
}

// classes are all classes of a source, by name.
type classes map[string]*class

func decodeClass(doc *document, r *report) *class {
	c := &class{at: doc.at, merged: map[guest.Kind]*tree.Node{}}
	d := newDecoder(r, doc.label(), &c.spec)
	if doc.spec != nil {
		decodeObject(d, doc.spec, &c.spec)
	}
	if s := &c.spec.selects; s.set {
		s.value.check(d.below("select"), s.place, doc.spec.Get("select"))
	}
	if r := &c.spec.rollout; r.set {
		settings := r.value.settings(d.below("rollout"), doc.meta.name.value)
		c.rollout = &settings
	}
	checkInherited(d, &c.spec.defaults, inheritedHint, inheritedNever...)
	return c
}

// check reports classes that build on unknown classes or on themselves.
func (c classes) check(r *report) {
	names := slices.Sorted(maps.Keys(c))
	for _, name := range names {
		c.checkNames(decoder{report: r, label: kindClass + "/" + name}, c[name].spec.class)
	}
	next := func(name string) []string {
		if c[name] == nil {
			return nil
		}
		return texts(c[name].spec.class)
	}
	for _, cycle := range cycles(names, next) {
		uses := c[cycle[0]].spec.class
		r.add(Problem{
			Origin: guest.Origin(uses.at), Guest: kindClass + "/" + cycle[0], Field: uses.path,
			Message: "class builds on itself: " + strings.Join(append(cycle, cycle[0]), " -> "),
		})
	}
}

func (c classes) checkNames(d decoder, uses textList) {
	for _, name := range uses.value {
		if c[name.value] == nil {
			d.path = name.path
			d.problem(name.at, "got the unknown class "+tree.Quote(name.value), didYouMean(closest(name.value, slices.Sorted(maps.Keys(c)))))
		}
	}
}

// mergeOver merges the named classes over a base, left to right.
func (c classes) mergeOver(base *tree.Node, names []string, kind guest.Kind) *tree.Node {
	for _, name := range names {
		if over := c.inherited(name, kind); over != nil {
			base = merge(base, over)
		}
	}
	return base
}

// inherited returns what a class provides for a kind of guest, or nil if it provides nothing.
func (c classes) inherited(name string, kind guest.Kind) *tree.Node {
	one := c[name]
	if one == nil || one.merging {
		return nil
	}
	if done, ok := one.merged[kind]; ok {
		return done
	}
	one.merging = true
	out := c.mergeOver(nil, texts(one.spec.class), kind)
	if own := one.spec.of(kind); own != nil {
		out = merge(out, own)
	}
	one.merging = false
	one.merged[kind] = out
	return out
}

func (c classes) order(name string) int { return c[name].spec.selects.value.order.value }
