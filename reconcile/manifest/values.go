package manifest

import (
	"encoding/json"
	"fmt"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// Value is one value of a guest with everything that it inherits.
type Value struct {
	Path   string          // below spec: "disks.scsi0.size", "tags[0]"
	JSON   json.RawMessage // as written: text, number, truth value; an empty list or mapping
	Origin guest.Origin
}

// Values returns the values of the guest in the order in which Render prints them, each with its place. The classes that it names are
// not among them, what they give is.
func (g Guest) Values() []Value {
	var out []Value
	for _, e := range g.merged.Entries {
		if e.Name != "class" {
			out = appendValues(out, e.Value, wholeSegment(e.Name))
		}
	}
	return out
}

// appendValues appends the values at and below a node.
func appendValues(out []Value, n *tree.Node, path string) []Value {
	for _, e := range n.Entries {
		out = appendValues(out, e.Value, path+"."+wholeSegment(e.Name))
	}
	for i, item := range n.Items {
		out = appendValues(out, item, fmt.Sprintf("%s[%d]", path, i))
	}
	if len(n.Entries) == 0 && len(n.Items) == 0 {
		out = append(out, Value{Path: path, JSON: n.JSON(), Origin: guest.Origin(n.At)})
	}
	return out
}

// Closest returns the label of the guest that an unknown one most likely meant, "" where none is near. A name alone means the guest of
// that name.
func (s Set) Closest(label string) string {
	var labels []string
	for _, g := range s.Guests {
		if g.Name == label {
			return g.Label()
		}
		labels = append(labels, g.Label())
	}
	return closest(label, labels)
}
