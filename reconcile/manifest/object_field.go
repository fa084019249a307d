package manifest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/manifest/tree"
)

// boundFields are fields of package kind as rows of an object, and what a manifest has for them.
type boundFields struct {
	rows []field
	read []func(kind.Spec) // puts the value of a field into the spec, if the manifest sets it
}

func (b *boundFields) fields() []field {
	if b == nil {
		return nil
	}
	return b.rows
}

// spec returns the values that were decoded.
func (b *boundFields) spec() kind.Spec {
	s := kind.Spec{}
	for _, read := range b.read {
		read(s)
	}
	return s
}

// bind returns rows for fields, and where their values go.
func bind(fields []kind.Field) *boundFields {
	b := &boundFields{}
	for _, f := range fields {
		row, read := bindForm(f.Form)
		doc := f.Doc
		if f.Required != "" {
			doc += " Required."
		}
		b.rows = append(b.rows, field{f.Name, "", doc, row})
		b.read = append(b.read, func(s kind.Spec) {
			if v, set := read(); set {
				s[f.Name] = v
			}
		})
	}
	return b
}

// bindForm returns the row's value for a form, and the function that reads what was decoded.
func bindForm(form kind.Form) (value, func() (kind.Value, bool)) {
	switch f := form.(type) {
	case kind.Text:
		into := &opt[string]{}
		return text(into, ruleOf(f)), func() (kind.Value, bool) { return valueOf(*into, into.value) }
	case kind.Flag:
		into := &opt[bool]{}
		return flag(into), func() (kind.Value, bool) { return valueOf(*into, boolCodec{"1", "0"}.format(into.value)) }
	case kind.Integer:
		into := &opt[int]{}
		return integer(into, f.Least, cmp.Or(f.Most, math.MaxInt)), func() (kind.Value, bool) { return valueOf(*into, strconv.Itoa(into.value)) }
	case kind.Choice:
		into := &opt[string]{}
		return choice(into, f.Words...), func() (kind.Value, bool) { return valueOf(*into, into.value) }
	case kind.List:
		into := &textList{}
		return list(into, ruleOf(f.Item), ","), func() (kind.Value, bool) {
			v, set := valueOf(*into, "")
			for _, item := range into.value {
				v.List = append(v.List, kind.Value{Origin: guest.Origin(item.at), Text: item.value})
			}
			return v, set
		}
	case kind.Labels:
		into := &labelMap{}
		return labelsValue{labels(&into.labels), into}, func() (kind.Value, bool) {
			v, set := valueOf(into.opt, "")
			v.Labels = make(map[string]string, len(into.labels))
			for name, text := range into.labels {
				v.Labels[name] = text.value
			}
			return v, set
		}
	case kind.Group:
		into := &opt[bool]{}
		own := bind(f.Fields)
		return markedGroup{groupValue{own}, into}, func() (kind.Value, bool) {
			v, set := valueOf(*into, "")
			v.Fields = own.spec()
			return v, set
		}
	case kind.Items:
		into := &opt[[]kind.Value]{}
		return itemsValue{into, f}, func() (kind.Value, bool) {
			v, set := valueOf(*into, "")
			v.List = into.value
			return v, set
		}
	default:
		panic(fmt.Sprintf("form %T has no value", form)) // the forms are a closed set
	}
}

func valueOf[T any](o opt[T], text string) (kind.Value, bool) {
	return kind.Value{Origin: guest.Origin(o.at), Text: text}, o.set
}

// ruleOf returns the rule of a text of package kind.
func ruleOf(f kind.Text) *textRule {
	r := &textRule{want: f.Want, examples: f.Examples, maxBytes: f.Max, accept: printable, numbers: f.Number, hintFor: f.Hint}
	if f.Accept != nil {
		r.accept = func(text string) bool { return printable(text) && f.Accept(text) }
	}
	if f.Pattern != "" {
		r.shape = exactly(f.Pattern)
	}
	return r
}

// markedGroup is a group that remembers that it was decoded.
type markedGroup struct {
	groupValue
	into *opt[bool]
}

func (g markedGroup) decode(d decoder, n *tree.Node) {
	*g.into = opt[bool]{place{n.Key, d.path}, true, true}
	g.groupValue.decode(d, n)
}

// labelMap is a mapping of labels, and whether it was decoded.
type labelMap struct {
	opt[bool]
	labels textMap
}

// labelsValue is a mapping that remembers that it was decoded.
type labelsValue struct {
	value
	into *labelMap
}

func (l labelsValue) decode(d decoder, n *tree.Node) {
	l.into.opt = opt[bool]{place{n.Key, d.path}, true, true}
	l.value.decode(d, n)
}

// itemsValue is an ordered list of mappings.
type itemsValue struct {
	into *opt[[]kind.Value]
	form kind.Items
}

func (v itemsValue) decode(d decoder, n *tree.Node) {
	most := cmp.Or(v.form.Most, maxItems)
	if n.Kind != tree.List || len(n.Items) > most {
		d.problem(n.At, fmt.Sprintf("got %s, want a list of at most %d mappings", n.Describe(), most), "")
		return
	}
	*v.into = opt[[]kind.Value]{place: place{n.Key, d.path}, set: true}
	for i, item := range n.Items {
		own := bind(v.form.Fields)
		below := d
		below.path = fmt.Sprintf("%s[%d]", d.path, i)
		before := d.report.count
		decodeObject(below, item, own)
		spec := own.spec()
		for _, f := range v.form.Fields {
			if f.Required != "" && !spec.Has(f.Name) && d.report.count == before {
				below.problem(item.At, "got no "+f.Name+", want "+f.Required, "")
			}
		}
		v.into.value = append(v.into.value, kind.Value{Origin: guest.Origin(item.At), Fields: spec})
	}
}

func (itemsValue) lower(*lowering, string) {}

func (v itemsValue) schema() *schema {
	item := objectSchema(bind(v.form.Fields))
	item.Type = []string{"object"}
	for _, f := range v.form.Fields {
		if f.Required != "" {
			item.Required = append(item.Required, f.Name)
		}
	}
	slices.Sort(item.Required)
	return &schema{Type: nullable("array"), Items: item}
}

func (v itemsValue) walk(path string, visit func(path string, row field)) {
	walkObject(bind(v.form.Fields), path+"[]", visit)
}
