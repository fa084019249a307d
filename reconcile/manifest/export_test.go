package manifest

import (
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// Row is a field as users see it, for the test that keeps the reference.
type Row struct{ Path, Native, Doc string }

// Rows returns every field of a kind, in the order of its table. Slots are written as SLOT.
func Rows(kind string) []Row {
	var out []Row
	walkObject(objectOf(kind), "", func(path string, row field) {
		if row.name != "" {
			out = append(out, Row{strings.ReplaceAll(path, "*", "SLOT"), strings.Trim(row.native, "."), row.doc})
		}
	})
	return out
}

// Unused returns the fields of a kind that none of the guests sets.
func Unused(kind guest.Kind, guests []Guest) []string {
	var used, unused []string
	var collect func(n *tree.Node, path string)
	collect = func(n *tree.Node, path string) {
		used = append(used, path)
		for _, e := range n.Entries {
			collect(e.Value, strings.TrimPrefix(path+"."+e.Name, "."))
		}
		for _, item := range n.Items {
			collect(item, path+"[]")
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

// WrongExamples returns what the parser says against the examples of a kind's fields.
func WrongExamples(kind string) []string {
	r := &report{}
	check := func(path string, row field) {
		if row.value == nil { // a slot, which has no name
			return
		}
		for i, example := range row.value.schema().Examples {
			for _, n := range (File{Path: fmt.Sprintf("%s#%d", path, i), Data: example}).documents(r) {
				row.value.decode(decoder{report: r, path: path}, n)
			}
		}
	}
	walkObject(objectOf(kind), "", check)
	if kind == kindCluster {
		walkObject(&document{}, "", check)
	}
	var out []string
	for _, p := range r.list {
		out = append(out, p.String())
	}
	return out
}

// MatchesPath compares a file with a pattern of classes, folder by folder.
func MatchesPath(pattern, file []string) bool { return matchesPath(pattern, file) }
