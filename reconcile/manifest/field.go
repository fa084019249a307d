package manifest

import (
	"cmp"
	"reflect"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// field is one row of an object's table. Decoding, lowering and the schema use it.
//
// Native is the Proxmox key of the field: "memory"; "cpu.cputype", a sub-key; ".bridge", a sub-key of the current slot; or "", if the field has no
// key of its own. An object that lowers a row by hand also names its key, for ignoreFields, hints and adopting. "node", "pool", "ha" and
// "template" are not keys of the configuration, but changes and plans use these names too.
type field struct {
	name, native, doc string
	value             value
}

// object is a YAML mapping with known fields.
type object interface{ fields() []field }

// pointer is the pointer to a type that is an object.
type pointer[T any] interface {
	*T
	object
}

// lowerer is an object that lowers or checks more than its rows do.
type lowerer interface{ lower(l *lowering) }

// nonMappingRejecter is an object with its own message for a value that is not a mapping.
type nonMappingRejecter interface{ rejectNonMapping(n *tree.Node) rejection }

// value is what a row decodes into. The inverse of lower is raisable, in adopt_raising.go. Values that are lowered by hand are raised by hand in
// adopt_by_hand.go; fields that cannot be raised are listed in adopt_fields_test.go.
type value interface {
	decode(d decoder, n *tree.Node)
	lower(l *lowering, native string)
	schema() *schema
	walk(path string, visit func(path string, row field)) // all rows below
}

// place is the position and the path of a value in a manifest.
type place struct {
	at   tree.Position
	path string
}

// opt is a value that a manifest can leave out.
type opt[T any] struct {
	place
	value T
	set   bool
}

// decoder is the current position of decoding.
type decoder struct {
	report *report
	label  string
	path   string
	root   object // the fields that are searched for a misplaced name
	base   string // path of the root, "" for the spec
	seen   tables // collects the tables of decoded objects; nil collects nothing
}

// tables are the rows of decoded objects. Lowering uses the same rows; an object that was not decoded sets nothing.
type tables map[object][]field

func (d decoder) below(name string) decoder {
	if d.path != "" {
		name = d.path + "." + name
	}
	d.path = name
	return d
}

func (d decoder) problem(at tree.Position, message, hint string) {
	d.report.add(Problem{Origin: guest.Origin(at), Guest: d.label, Field: d.path, Message: message, Hint: hint})
}

// decodeObject fills an object from a mapping. A null leaves its field unset.
func decodeObject(d decoder, n *tree.Node, into object) {
	rows := into.fields()
	if n.Kind != tree.Mapping {
		wrong := rejection{"got " + n.Describe() + ", want a mapping", d.mappingHint(into, n)}
		if own, ok := into.(nonMappingRejecter); ok {
			wrong = own.rejectNonMapping(n)
		}
		d.problem(n.At, wrong.message, wrong.hint)
		return
	}
	if d.seen != nil {
		d.seen[into] = rows
	}
	for _, e := range n.Entries {
		row := find(rows, e.Name)
		switch {
		case row == nil:
			below := d.below(segment(e.Name))
			below.problem(e.Value.Key, "unknown field", d.unknownFieldHint(rows, e.Name))
		case !e.Value.IsNull():
			row.value.decode(d.below(e.Name), e.Value)
		}
	}
}

// mappingHint returns a hint for a value that is not a mapping: the first field that accepts the value, or its most likely meaning. For
// memory: 2048 it suggests memory: {size: 2048Mi}. It never suggests to remove something.
func (d decoder) mappingHint(into object, n *tree.Node) string {
	if d.path == "" || n.Kind != tree.Scalar || n.IsNull() {
		return ""
	}
	blank, ok := reflect.New(reflect.TypeOf(into).Elem()).Interface().(object) // so that the attempt changes nothing
	if !ok {
		return ""
	}
	for _, row := range blank.fields() {
		trial, fit := &report{}, tree.Shorten(n.Text)
		row.value.decode(decoder{report: trial}, n)
		if trial.count > 0 {
			fit = proposed(trial.list[0].Hint)
		}
		if fit != "" && row.name != "absent" {
			return didYouMean("{" + row.name + ": " + fit + "}")
		}
	}
	return ""
}

func find(rows []field, name string) *field {
	for i := range rows {
		if rows[i].name == name {
			return &rows[i]
		}
	}
	return nil
}

// unknownFieldHint returns a hint for an unknown name: the only field below this object, or anywhere, with this name or this native key; or a
// native sub-key that raw accepts; or a field that classes have by kind; or a field of this object with similar spelling.
func (d decoder) unknownFieldHint(rows []field, name string) string {
	var names, near, elsewhere []string
	for _, row := range rows {
		names = append(names, row.name)
	}
	if d.root != nil {
		walkObject(d.root, "", func(path string, row field) {
			if lastSegment(path) != name && row.native != name {
				return
			}
			elsewhere = append(elsewhere, path)
			if strings.HasPrefix(path, d.pathInRoot()+".") {
				near = append(near, path)
			}
		})
	}
	switch {
	case len(near) == 1:
		return didYouMean(near[0])
	case len(elsewhere) == 1:
		return didYouMean(elsewhere[0])
	}
	if kinds := inheritedPaths(rows, name); len(kinds) > 0 {
		return didYouMean(strings.Join(kinds, " or "))
	}
	return cmp.Or(d.rawHint(rows, name), d.otherKindHint(name), d.belowSpecHint(rows, name), didYouMean(closest(name, names)))
}

// inheritedPaths returns the paths of a guest's field in an object that contains the specs of both kinds, such as a class.
func inheritedPaths(rows []field, name string) []string {
	var paths []string
	for _, kind := range []guest.Kind{guest.VirtualMachine, guest.Container} {
		below := inheritedName[kind]
		if find(rows, below) != nil && find(newSpec(kind).fields(), name) != nil {
			paths = append(paths, below+"."+name)
		}
	}
	return paths
}

// walkObject visits the fields of an object and all below them.
func walkObject(o object, path string, visit func(path string, row field)) {
	for _, row := range o.fields() {
		below := row.name
		if path != "" {
			below = path + "." + row.name
		}
		visit(below, row)
		row.value.walk(below, visit)
	}
}

// group is a row for an object in its own mapping: cpu.cores, cpu.type.
func group(into object) value { return groupValue{into} }

type groupValue struct{ into object }

func (g groupValue) decode(d decoder, n *tree.Node) { decodeObject(d, n, g.into) }

func (g groupValue) lower(l *lowering, _ string) { lowerObject(l, g.into) }

func (g groupValue) schema() *schema { return objectSchema(g.into) }

func (g groupValue) walk(path string, visit func(path string, row field)) {
	walkObject(g.into, path, visit)
}

// child is a group whose presence has a meaning: source.blank, firmware.efi.
func child[T any, P pointer[T]](into *opt[T]) value {
	return childValue{groupValue{P(&into.value)}, func(p place) { into.place, into.set = p, true }, &into.set}
}

type childValue struct {
	groupValue
	mark func(place)
	set  *bool
}

func (c childValue) decode(d decoder, n *tree.Node) {
	c.mark(place{n.Key, d.path})
	c.groupValue.decode(d, n)
}

func (c childValue) lower(l *lowering, native string) {
	if *c.set {
		c.groupValue.lower(l, native)
	}
}

// byHand is a row that its object lowers by hand.
func byHand(inner value) value { return byHandValue{inner} }

type byHandValue struct{ value }

func (byHandValue) lower(*lowering, string) {}
