package manifest

// merge lays one value over another and returns the result; neither argument changes. Mappings are merged name by name, anything
// else replaces. A null stays a null, so that a class can drop what the classes before it gave. A slot that one of the two
// removes (absent: true) is not mixed with the other.
func merge(base, over *node) *node {
	if base == nil || base.kind != mapNode || over.kind != mapNode || removes(base) || removes(over) {
		return over
	}
	upper := make(map[string]*node, len(over.entries))
	for _, e := range over.entries {
		upper[e.name] = e.value
	}
	out := &node{kind: mapNode, at: over.at, key: over.key}
	for _, e := range base.entries {
		if value, named := upper[e.name]; named {
			e.value = merge(e.value, value)
			delete(upper, e.name)
		}
		out.entries = append(out.entries, e)
	}
	for _, e := range over.entries {
		if _, left := upper[e.name]; left {
			out.entries = append(out.entries, e)
		}
	}
	return out
}

// withoutNulls returns the value without what it drops: a null means the field is not managed.
func withoutNulls(n *node) *node {
	if n.kind != mapNode {
		return n
	}
	out := &node{kind: mapNode, at: n.at, key: n.key}
	for _, e := range n.entries {
		if !e.value.null() {
			out.entries = append(out.entries, entry{e.name, withoutNulls(e.value)})
		}
	}
	return out
}

func removes(n *node) bool {
	absent := n.get("absent")
	return absent != nil && absent.tag == "!!bool" && absent.text == "true"
}
