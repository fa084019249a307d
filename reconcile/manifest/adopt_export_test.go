package manifest

import (
	"strings"

	"gitops-agent/reconcile/manifest/tree"
)

// FieldPatterns returns the fields of a kind that hold a value, slots as *.
func FieldPatterns(kind string) []string {
	var all []string
	for _, row := range Rows(kind) {
		all = append(all, strings.ReplaceAll(row.Path, "SLOT", "*"))
	}
	var out []string
	for i, path := range all {
		if i+1 == len(all) || !strings.HasPrefix(all[i+1], path+".") {
			out = append(out, path)
		}
	}
	return out
}

// MatchesField reports whether a field's path fits a pattern.
func MatchesField(pattern, path string) bool { return matches(pattern, path) }

// SpecFields returns the paths of all fields that the spec of a document sets.
func SpecFields(data []byte) []string {
	var out []string
	for _, doc := range (File{Path: "test.yaml", Data: data}).documents(&report{}) {
		var walk func(n *tree.Node, path string)
		walk = func(n *tree.Node, path string) {
			out = append(out, path)
			for _, e := range n.Entries {
				walk(e.Value, strings.TrimPrefix(path+"."+e.Name, "."))
			}
			for _, item := range n.Items {
				walk(item, path+"[]")
			}
		}
		walk(doc.Get("spec"), "")
	}
	return out
}
