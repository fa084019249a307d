package kind

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
)

// Raised is a field of a manifest that describes a live object. Value is a string, a bool, an int, a []string, a []int, a []Raised or a [][]Raised.
type Raised struct {
	Name  string
	Value any
}

// RaiseAll returns the fields of the manifest that describes a live object, apart from id and comment, and the keys that no field can express, sorted.
func (k *Kind) RaiseAll(o cluster.Object) (fields []Raised, left []string) {
	if k.Raise != nil {
		return k.Raise(o)
	}
	return k.RaiseKeys(o.Keys)
}

// RaiseKeys returns the fields whose texts are those of keys, and the keys that no field has, sorted.
func (k *Kind) RaiseKeys(keys map[string]string) (fields []Raised, left []string) {
	expressed := map[string]bool{k.Note.Key: true}
	for _, f := range k.Fields {
		text, set := keys[f.Key]
		if f.Key == "" || !set {
			continue
		}
		if value, ok := raise(f, text); ok {
			fields, expressed[f.Key] = append(fields, Raised{f.Name, value}), true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !expressed[key] {
			left = append(left, key)
		}
	}
	return fields, left
}

// raise returns the value of a field with a native text.
func raise(f Field, text string) (value any, ok bool) {
	switch f.Form.(type) {
	case Text, Choice:
		return text, true
	case Flag:
		return text == "1", text == "0" || text == "1"
	case Integer:
		n, err := strconv.Atoi(text)
		return n, err == nil
	case List:
		return strings.Split(text, cmp.Or(f.Joiner, ",")), true
	}
	return nil, false
}
