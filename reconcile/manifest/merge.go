package manifest

import "gitops-agent/reconcile/manifest/tree"

// merge lays one value over another and returns the result. It changes neither argument. Mappings are merged by name; any other value is replaced. A
// null stays a null, so that a class can drop a value of the classes before it. If one of the two removes a slot (absent: true), the slots are
// not merged.
func merge(base, over *tree.Node) *tree.Node {
	if base == nil || base.Kind != tree.Mapping || over.Kind != tree.Mapping || removes(base) || removes(over) {
		return over
	}
	upper := make(map[string]*tree.Node, len(over.Entries))
	for _, e := range over.Entries {
		upper[e.Name] = e.Value
	}
	out := &tree.Node{Kind: tree.Mapping, At: over.At, Key: over.Key}
	for _, e := range base.Entries {
		if value, named := upper[e.Name]; named {
			e.Value = merge(e.Value, value)
			delete(upper, e.Name)
		}
		out.Entries = append(out.Entries, e)
	}
	for _, e := range over.Entries {
		if _, left := upper[e.Name]; left {
			out.Entries = append(out.Entries, e)
		}
	}
	return out
}

// withoutNulls returns the value without entries that are null: a null means that the field is not managed.
func withoutNulls(n *tree.Node) *tree.Node {
	if n.Kind != tree.Mapping {
		return n
	}
	out := &tree.Node{Kind: tree.Mapping, At: n.At, Key: n.Key}
	for _, e := range n.Entries {
		if !e.Value.IsNull() {
			out.Entries = append(out.Entries, tree.Entry{Name: e.Name, Value: withoutNulls(e.Value)})
		}
	}
	return out
}

func removes(n *tree.Node) bool {
	absent := n.Get("absent")
	return absent != nil && absent.Tag == "!!bool" && absent.Text == "true"
}
