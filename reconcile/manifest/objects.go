package manifest

import (
	"fmt"

	"gitops-agent/reconcile/manifest/tree"
)

// objectList is a list of objects in order. Unlike a mapping of slots it is inherited as a whole.
func objectList[T any, P pointer[T]](into *opt[[]opt[T]]) value { return objectListValue[T, P]{into} }

type objectListValue[T any, P pointer[T]] struct{ into *opt[[]opt[T]] }

func (v objectListValue[T, P]) decode(d decoder, n *tree.Node) {
	if n.Kind != tree.List || len(n.Items) > maxItems {
		d.problem(n.At, fmt.Sprintf("got %s, want a list of at most %d mappings", n.Describe(), maxItems), "")
		return
	}
	*v.into = opt[[]opt[T]]{place: place{n.Key, d.path}, set: true}
	for i, item := range n.Items {
		below := d
		below.path = fmt.Sprintf("%s[%d]", d.path, i)
		o := opt[T]{place: place{item.At, below.path}, set: true}
		decodeObject(below, item, P(&o.value))
		v.into.value = append(v.into.value, o)
	}
}

// lower does nothing: the object that has the list lowers it.
func (v objectListValue[T, P]) lower(*lowering, string) {}

func (v objectListValue[T, P]) schema() *schema {
	var item T
	return &schema{Type: nullable("array"), Items: objectSchema(P(&item))}
}

func (v objectListValue[T, P]) walk(path string, visit func(path string, row field)) {
	var item T
	walkObject(P(&item), path+"[]", visit)
}

// namedObjects maps names that the user chooses to objects.
func namedObjects[T any, P pointer[T]](into *opt[map[string]opt[T]], names *textRule) value {
	return namedObjectsValue[T, P]{into, names}
}

type namedObjectsValue[T any, P pointer[T]] struct {
	into  *opt[map[string]opt[T]]
	names *textRule
}

func (v namedObjectsValue[T, P]) decode(d decoder, n *tree.Node) {
	if n.Kind != tree.Mapping || len(n.Entries) > maxItems {
		d.problem(n.At, fmt.Sprintf("got %s, want a mapping of at most %d names", n.Describe(), maxItems), "")
		return
	}
	*v.into = opt[map[string]opt[T]]{place: place{n.Key, d.path}, value: map[string]opt[T]{}, set: true}
	for _, e := range n.Entries {
		below := d.below(segment(e.Name))
		switch {
		case !v.names.ok(e.Name):
			below.problem(e.Value.Key, "got the name "+tree.Quote(e.Name)+", want "+v.names.wanted(), "")
		case !e.Value.IsNull():
			o := opt[T]{place: place{e.Value.Key, below.path}, set: true}
			decodeObject(below, e.Value, P(&o.value))
			v.into.value[e.Name] = o
		}
	}
}

// lower does nothing: the object that has the mapping lowers it.
func (v namedObjectsValue[T, P]) lower(*lowering, string) {}

func (v namedObjectsValue[T, P]) schema() *schema {
	var item T
	return &schema{
		Type: nullable("object"), PropertyNames: &schema{Pattern: v.names.pattern()},
		PatternProperties: map[string]*schema{"": objectSchema(P(&item))},
	}
}

func (v namedObjectsValue[T, P]) walk(path string, visit func(path string, row field)) {
	var item T
	walkObject(P(&item), path+".*", visit)
}
