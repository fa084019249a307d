package manifest

import (
	"encoding/json"
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

	unknownField func(d decoder, rows []field, name string) string // returns a hint for an unknown field; nil returns none
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

// newProblem reports what earlier releases accepted: see Problem.New.
func (d decoder) newProblem(at tree.Position, message, hint string) {
	d.report.add(Problem{Origin: guest.Origin(at), Guest: d.label, Field: d.path, Message: message, Hint: hint, New: true})
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
			below.problem(e.Value.Key, "unknown field", d.unknownHint(rows, e.Name))
		case !e.Value.IsNull():
			row.value.decode(d.below(e.Name), e.Value)
		}
	}
}

// unknownHint returns a hint for an unknown field.
func (d decoder) unknownHint(rows []field, name string) string {
	if d.unknownField == nil {
		return ""
	}
	return d.unknownField(d, rows, name)
}

// mappingHint returns a hint for a value that is not a mapping: the first field that accepts the value, or its most likely meaning. For
// memory: 2048 it suggests memory: {size: 2048Mi}. It never suggests to remove something. For a list it names the fields.
func (d decoder) mappingHint(into object, n *tree.Node) string {
	if d.path == "" || n.IsNull() {
		return ""
	}
	if n.Kind != tree.Scalar {
		return "its fields are " + fieldNames(into.fields())
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

// fieldNames lists the names of fields, the first ones of many.
func fieldNames(rows []field) string {
	const most = 8
	var names []string
	for _, row := range rows {
		names = append(names, row.name)
	}
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}

func find(rows []field, name string) *field {
	for i := range rows {
		if rows[i].name == name {
			return &rows[i]
		}
	}
	return nil
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

// lowering collects the intents of one guest.
type lowering struct {
	report  *report
	label   string
	kind    guest.Kind
	seen    tables
	slot    string // native key to which sub-keys belong at the moment
	intents map[string]*guest.Intent
	setBy   map[string]place    // native key -> the field that set it first
	natives map[string][]string // field path -> the native keys, or key.sub, of the field
	secrets []guest.Secret

	partial bool // a part of the manifest was not understood, so this may be incomplete

	images images // of the source
	node   string // on which the guest is created; "" if the manifest does not say
}

// lowerObject lowers the rows of a decoded object, then calls its own lower method.
func lowerObject(l *lowering, o object) {
	rows, decoded := l.seen[o]
	if !decoded {
		return
	}
	for _, row := range rows {
		row.value.lower(l, row.native)
	}
	if more, ok := o.(lowerer); ok {
		more.lower(l)
	}
}

// rejection is the reason why a value was refused.
type rejection struct{ message, hint string }

func wanted(n *tree.Node, want string) *rejection {
	return &rejection{message: "got " + n.Describe() + ", want " + want}
}

// schema is the part of JSON Schema 2020-12 that manifests need.
type schema struct {
	Dialect              string             `json:"$schema,omitempty"`
	Title                string             `json:"title,omitempty"`
	Description          string             `json:"description,omitempty"`
	Examples             []json.RawMessage  `json:"examples,omitempty"`
	Ref                  string             `json:"$ref,omitempty"`
	Type                 []string           `json:"type,omitempty"`
	Const                string             `json:"const,omitempty"`
	Enum                 []*string          `json:"enum,omitempty"`
	Pattern              string             `json:"pattern,omitempty"`
	Minimum              *float64           `json:"minimum,omitempty"`
	Maximum              *float64           `json:"maximum,omitempty"`
	Properties           map[string]*schema `json:"properties,omitempty"`
	PatternProperties    map[string]*schema `json:"patternProperties,omitempty"`
	PropertyNames        *schema            `json:"propertyNames,omitempty"`
	AdditionalProperties *bool              `json:"additionalProperties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	Items                *schema            `json:"items,omitempty"`
	AllOf                []*schema          `json:"allOf,omitempty"`
	If                   *schema            `json:"if,omitempty"`
	Then                 *schema            `json:"then,omitempty"`
	Defs                 map[string]*schema `json:"$defs,omitempty"`
}

// nullable returns the types and null. A null drops an inherited value.
func nullable(types ...string) []string { return append(types, "null") }

func objectSchema(o object) *schema {
	out := &schema{Type: nullable("object"), AdditionalProperties: new(bool), Properties: map[string]*schema{}}
	for _, row := range o.fields() {
		s := row.value.schema()
		s.Description = row.doc
		out.Properties[row.name] = s
	}
	return out
}

func definition(kind string) *schema { return &schema{Ref: "#/$defs/" + kind} }

// textExamples are texts as examples of a schema.
func textExamples(texts ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, text := range texts {
		out = append(out, encoded(text))
	}
	return out
}

// encoded returns a text or a list of texts as JSON.
func encoded[T string | []string](value T) json.RawMessage {
	out, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts always have a JSON form
	}
	return out
}
