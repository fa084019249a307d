package manifest

import (
	"gitops-agent/reconcile/manifest/tree"
)

// singleDevice is a row for a device that a guest can have only once, with the native key of the row: rng is rng0.
func singleDevice[T any, P slotted[T]](into *opt[T]) value {
	return singleDeviceValue[T, P]{childValue{groupValue{P(&into.value)}, func(p place) { into.place, into.set = p, true }, &into.set}, into}
}

type singleDeviceValue[T any, P slotted[T]] struct {
	childValue
	into *opt[T]
}

func (v singleDeviceValue[T, P]) decode(d decoder, n *tree.Node) {
	v.childValue.decode(d, n)
	if P(&v.into.value).removed() && len(withoutNulls(n).Entries) > 1 {
		d.problem(n.Key, "got absent: true beside other fields, want it alone", "")
	}
}

func (v singleDeviceValue[T, P]) lower(l *lowering, native string) {
	switch {
	case !v.into.set:
	case P(&v.into.value).removed():
		l.remove(native, v.into.place)
	default:
		l.open(native, v.into.place)
		v.childValue.lower(l, native)
		l.close()
	}
}
