package journal

import (
	"encoding/json"
	"errors"
	"reflect"
)

// row is one row of the table kinds, with functions that take the body's own type. Only name, version, complete and kept are required.
type row[T Body] struct {
	name     string                            // the key of the body in a payload
	version  int                               // the first payload version that contains the kind
	newer    func(T) int                       // the payload version that a body needs because of a field that was added later, 0 for none
	decode   func(*json.Decoder) (Body, error) // default: the fields of T and no others
	complete func(T) bool                      // reports whether the required fields are set
	admit    func(*trial, T) error             // compares the record with open steps and ended orders; default: accepts it
	fold     func(f *fold, r Record, body T)   // default: changes nothing
	kept     string                            // how long compaction keeps the record, for docs/internals/journal.md
}

// kind is a row whose functions take any Body.
type kind struct {
	name     string
	version  int
	newest   int            // the highest version that a body may need
	needs    func(Body) int // the version that a body needs
	body     reflect.Type
	decode   func(*json.Decoder) (Body, error)
	complete func(Body) bool
	admit    func(*trial, Body) error
	fold     func(*fold, Record)
	kept     string
}

func (r row[T]) kind() *kind {
	k := &kind{
		name:     r.name,
		version:  r.version,
		newest:   r.version,
		needs:    func(Body) int { return r.version },
		body:     reflect.TypeFor[T](),
		decode:   r.decode,
		complete: func(b Body) bool { return r.complete(b.(T)) },
		admit:    func(*trial, Body) error { return nil },
		fold:     func(*fold, Record) {},
		kept:     r.kept,
	}
	if r.newer != nil {
		k.newest = newestField
		k.needs = func(b Body) int { return max(r.version, r.newer(b.(T))) }
	}
	if k.decode == nil {
		k.decode = decodeVia(func(b T) T { return b })
	}
	if r.admit != nil {
		k.admit = func(t *trial, b Body) error { return r.admit(t, b.(T)) }
	}
	if r.fold != nil {
		k.fold = func(f *fold, rec Record) { r.fold(f, rec, rec.Body.(T)) }
	}
	return k
}

var errNullBody = errors.New("the body of a record is null")

// decodeVia reads a body as the type W and converts it.
func decodeVia[W any, T Body](convert func(W) T) func(*json.Decoder) (Body, error) {
	return func(dec *json.Decoder) (Body, error) {
		var w *W
		if err := dec.Decode(&w); err != nil {
			return nil, err
		}
		if w == nil {
			return nil, errNullBody
		}
		return convert(*w), nil
	}
}

// ignored is a field that older releases wrote and that nothing reads.
type ignored struct{}

// UnmarshalJSON accepts every value.
func (*ignored) UnmarshalJSON([]byte) error { return nil }

// newestField is the highest payload version of a field that was added to a kind of an earlier version.
const newestField = 30

// laterField returns the version that a body needs because of a field that was added in that version, 0 if the field is not set.
func laterField(version int, set bool) int {
	if set {
		return version
	}
	return 0
}
