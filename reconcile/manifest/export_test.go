package manifest

import (
	"strings"

	"gitops-agent/reconcile/guest"
)

// Row is a field as users see it, for the test that keeps the reference.
type Row struct{ Path, Native, Doc string }

// Rows returns every field of a kind, in the order of its table. Slots are written as SLOT.
func Rows(kind string) []Row {
	var o object
	switch kind {
	case kindCluster:
		o = &clusterSpec{}
	case kindClass:
		o = &classSpec{}
	default:
		o = newSpec(guest.Kind(kind))
	}
	var out []Row
	walkObject(o, "", func(path string, row field) {
		if row.name != "" {
			out = append(out, Row{strings.ReplaceAll(path, "*", "SLOT"), strings.TrimPrefix(row.native, "."), row.doc})
		}
	})
	return out
}
