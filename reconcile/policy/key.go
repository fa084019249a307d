package policy

import (
	"encoding/binary"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

// reads are the fields that the expressions of a policy read, by the name of their type.
type reads map[string][]fieldType

// key is what a policy reads of a guest, as bytes: two guests with the same key get the same result.
type key struct {
	reads reads
	bytes []byte
}

// of returns the key of a guest for a policy. It is valid until the next call.
func (k *key) of(g *Guest, read reads) []byte {
	k.reads, k.bytes = read, k.bytes[:0]
	k.object(guestType, g)
	return k.bytes
}

// object adds the fields of a struct that are read.
func (k *key) object(of *structType, value any) {
	for _, f := range k.reads[of.name] {
		f.write(k, value)
	}
}

func (k *key) int(n int64) { k.bytes = binary.AppendVarint(k.bytes, n) }

func (k *key) bool(b bool) {
	if b {
		k.int(1)
		return
	}
	k.int(0)
}

func (k *key) text(text string) {
	k.int(int64(len(text)))
	k.bytes = append(k.bytes, text...)
}

func (k *key) texts(list []string) {
	k.int(int64(len(list)))
	for _, text := range list {
		k.text(text)
	}
}

func (k *key) textMap(m map[string]string) {
	var few [8]string // no allocation for the usual number of labels
	names := few[:0]
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	k.texts(names)
	for _, name := range names {
		k.text(m[name])
	}
}

// objectsKey adds a list of structs.
func objectsKey[T any](k *key, of *structType, list []T) {
	k.int(int64(len(list)))
	for i := range list {
		k.object(of, &list[i])
	}
}

// add notes that a field is read. It returns false if the field cannot be a part of a key.
func (r reads) add(of *structType, field string) bool {
	i := slices.IndexFunc(of.fields, func(f fieldType) bool { return f.name == field })
	if i < 0 || of.fields[i].write == nil {
		return false
	}
	if !slices.ContainsFunc(r[of.name], func(f fieldType) bool { return f.name == field }) {
		r[of.name] = append(r[of.name], of.fields[i])
	}
	return true
}

// note adds the fields that a checked expression reads. It returns false if it is not certain that these are all: a struct is read in another way than by
// the name of a field, or the checker does not know a type.
func (r reads) note(checked *cel.Ast) bool {
	tree, known := checked.NativeRep(), true
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		t := tree.GetType(e.ID())
		switch {
		case e.Kind() == ast.LiteralKind: // the checker gives the name after .? no type
		case t == nil || t.Kind() == types.DynKind || t.Kind() == types.AnyKind || t.TypeName() == optionalType && isStruct(t.Parameters()):
			known = false
		case e.Kind() == ast.SelectKind:
			if of := structOf(tree.GetType(e.AsSelect().Operand().ID()).TypeName()); of != nil {
				known = r.add(of, e.AsSelect().FieldName()) && known
			}
		case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == optionalSelect && isStruct([]*types.Type{tree.GetType(e.AsCall().Args()[0].ID())}):
			known = false
		}
	}))
	return known
}

// optionalType is the name of the type of `a.?b`, and optionalSelect the function behind it.
const (
	optionalType   = "optional_type"
	optionalSelect = "_?._"
)

func isStruct(list []*types.Type) bool {
	return slices.ContainsFunc(list, func(t *types.Type) bool { return t == nil || structOf(t.TypeName()) != nil })
}
