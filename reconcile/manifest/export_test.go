package manifest

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"gitops-agent/reconcile/guest"
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

// WrongExamples returns what the parser says against the examples of a kind's fields.
func WrongExamples(kind string) []string {
	r := &report{}
	check := func(path string, row field) {
		if row.value == nil { // a slot, which has no name
			return
		}
		for i, example := range row.value.schema().Examples {
			var y yaml.Node
			if err := yaml.Unmarshal(example, &y); err != nil {
				r.add(Problem{Field: path, Message: err.Error()})
				continue
			}
			b := &builder{file: fmt.Sprintf("%s#%d", path, i), report: r}
			row.value.decode(decoder{report: r, path: path}, b.build(y.Content[0], 0))
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
