package policy

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// fieldType is one row of a table of fields.
type fieldType struct {
	name  string
	kind  *types.Type
	doc   string
	get   func(value any) ref.Val
	write func(k *key, value any) // adds the value to a key; nil if it cannot be a part of one
}

// structType is a type that expressions see, with its fields.
type structType struct {
	name   string
	kind   *types.Type
	fields []fieldType
}

// row returns a row for a field of a Go struct.
func row[T any](name string, kind *types.Type, doc string, get func(*T) ref.Val) fieldType {
	return fieldType{name: name, kind: kind, doc: doc, get: func(value any) ref.Val {
		if v, ok := value.(*T); ok {
			return get(v)
		}
		return types.NewErr("got %T, want %s", value, reflect.TypeFor[T]())
	}}
}

// keyed returns a row whose field can be a part of a key.
func keyed[T any](f fieldType, write func(k *key, value *T)) fieldType {
	f.write = func(k *key, value any) { write(k, value.(*T)) } //nolint:forcetypeassert // the checker knows the type of every expression
	return f
}

func textRow[T any](name, doc string, get func(*T) string) fieldType {
	return keyed(row(name, types.StringType, doc, func(v *T) ref.Val { return types.String(get(v)) }), func(k *key, v *T) { k.text(get(v)) })
}

func intRow[T any](name, doc string, get func(*T) int64) fieldType {
	return keyed(row(name, types.IntType, doc, func(v *T) ref.Val { return types.Int(get(v)) }), func(k *key, v *T) { k.int(get(v)) })
}

func boolRow[T any](name, doc string, get func(*T) bool) fieldType {
	return keyed(row(name, types.BoolType, doc, func(v *T) ref.Val { return types.Bool(get(v)) }), func(k *key, v *T) { k.bool(get(v)) })
}

func textsRow[T any](name, doc string, get func(*T) []string) fieldType {
	return keyed(row(name, listOfText, doc, func(v *T) ref.Val { return texts(get(v)) }), func(k *key, v *T) { k.texts(get(v)) })
}

// object is a Go struct as a value of CEL.
type object struct {
	of    *structType
	value any // a pointer
}

// ConvertToNative implements ref.Val.
func (o object) ConvertToNative(want reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s has no form as %s", o.of.name, want)
}

// ConvertToType implements ref.Val.
func (o object) ConvertToType(want ref.Type) ref.Val {
	if want.TypeName() == types.TypeType.TypeName() {
		return o.of.kind
	}
	return types.NewErr("%s has no form as %s", o.of.name, want.TypeName())
}

// Equal implements ref.Val: an object equals only itself.
func (o object) Equal(other ref.Val) ref.Val {
	p, ok := other.(object)
	return types.Bool(ok && p.value == o.value)
}

// Type implements ref.Val.
func (o object) Type() ref.Type { return o.of.kind }

// Value implements ref.Val.
func (o object) Value() any { return o.value }

// provider knows the struct types of this package in addition to those of CEL.
type provider struct{ *types.Registry }

func newProvider() (provider, error) {
	registry, err := types.NewRegistry()
	return provider{registry}, err
}

func structOf(name string) *structType {
	for _, t := range structTypes() {
		if t.name == name {
			return t
		}
	}
	return nil
}

// FindStructType implements types.Provider.
func (p provider) FindStructType(name string) (*types.Type, bool) {
	if t := structOf(name); t != nil {
		return types.NewTypeTypeWithParam(t.kind), true
	}
	return p.Registry.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	t := structOf(name)
	if t == nil {
		return p.Registry.FindStructFieldNames(name)
	}
	var names []string
	for _, f := range t.fields {
		names = append(names, f.name)
	}
	return names, true
}

// FindStructFieldType implements types.Provider. Every field of a struct is set: what a guest does not have is empty or 0.
func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	t := structOf(name)
	if t == nil {
		return p.Registry.FindStructFieldType(name, field)
	}
	i := slices.IndexFunc(t.fields, func(f fieldType) bool { return f.name == field })
	if i < 0 {
		return nil, false
	}
	get := t.fields[i].get
	return &types.FieldType{
		Type: t.fields[i].kind, IsSet: func(any) bool { return true },
		GetFrom: func(value any) (any, error) {
			v := get(value)
			if failed, ok := v.(*types.Err); ok {
				return nil, failed
			}
			return v, nil
		},
	}, true
}

// NewValue implements types.Provider. Expressions make no objects of these types.
func (p provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if structOf(name) != nil {
		return types.NewErr("an expression cannot make a value of type %s", name)
	}
	return p.Registry.NewValue(name, fields)
}

// sortedMap is a map whose keys are visited in order, so that the same input gives the same message.
type sortedMap struct {
	traits.Mapper

	keys []string
}

// textMap returns a map of texts as a value of CEL.
func textMap(m map[string]string) ref.Val {
	return sortedMap{types.NewStringStringMap(types.DefaultTypeAdapter, m), slices.Sorted(maps.Keys(m))}
}

// listMap returns a map of lists as a value of CEL.
func listMap(m map[string][]string) ref.Val {
	values := make(map[ref.Val]ref.Val, len(m))
	for k, v := range m {
		values[types.String(k)] = texts(v)
	}
	return sortedMap{types.NewRefValMap(types.DefaultTypeAdapter, values), slices.Sorted(maps.Keys(m))}
}

// Iterator implements traits.Iterable.
func (m sortedMap) Iterator() traits.Iterator {
	return types.NewStringList(types.DefaultTypeAdapter, m.keys).Iterator()
}

// texts returns a list of texts as a value of CEL.
func texts(list []string) ref.Val { return types.NewStringList(types.DefaultTypeAdapter, list) }

// objects returns a list of structs as a value of CEL.
func objects[T any](of *structType, list []T) ref.Val {
	values := make([]ref.Val, len(list))
	for i := range list {
		values[i] = object{of, &list[i]}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, values)
}
