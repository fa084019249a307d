package guest_test

import (
	"reflect"
	"testing"

	"gitops-agent/reconcile/guest"
)

// TestWithoutOrigins fills every field with a place somewhere in it, so that a new one cannot be forgotten.
func TestWithoutOrigins(t *testing.T) {
	var d guest.Desired
	fill(reflect.ValueOf(&d).Elem())
	before := places(reflect.ValueOf(d))
	if before < 4 {
		t.Fatalf("got %d places in a filled guest, want its own and those of intents, secrets and the HA entry", before)
	}
	if got := places(reflect.ValueOf(d.WithoutOrigins())); got != 0 {
		t.Errorf("got %d places left, want none", got)
	}
	if got := places(reflect.ValueOf(d)); got != before {
		t.Errorf("got %d places in the guest itself, want its %d untouched", got, before)
	}
}

var aPlace = guest.Origin{File: "web.yaml", Line: 3, Column: 5}

// fill gives every pointer and list one element, and every place a value.
func fill(v reflect.Value) {
	switch {
	case !v.CanSet(): // an unexported field has no place
	case v.Type() == reflect.TypeFor[guest.Origin]():
		v.Set(reflect.ValueOf(aPlace))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case v.Kind() == reflect.Struct && v.Type().PkgPath() == "gitops-agent/reconcile/guest":
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}

// places counts the places that are set.
func places(v reflect.Value) int {
	switch {
	case v.Type() == reflect.TypeFor[guest.Origin]():
		if v.IsZero() {
			return 0
		}
		return 1
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return places(v.Elem())
	case v.Kind() == reflect.Slice && v.Len() > 0:
		return places(v.Index(0))
	case v.Kind() == reflect.Struct:
		n := 0
		for i := range v.NumField() {
			n += places(v.Field(i))
		}
		return n
	}
	return 0
}
