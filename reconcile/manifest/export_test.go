package manifest

import (
	"slices"
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

// Unused returns the fields of a kind that none of the guests sets.
func Unused(kind guest.Kind, guests []Guest) []string {
	var used, unused []string
	var collect func(n *node, path string)
	collect = func(n *node, path string) {
		used = append(used, path)
		for _, e := range n.entries {
			collect(e.value, strings.TrimPrefix(path+"."+e.name, "."))
		}
	}
	for _, g := range guests {
		if g.Kind == kind {
			collect(g.merged, "")
		}
	}
	walkObject(newSpec(kind), "", func(pattern string, _ field) {
		if !slices.ContainsFunc(used, func(path string) bool { return matches(pattern, path) }) {
			unused = append(unused, pattern)
		}
	})
	return unused
}
