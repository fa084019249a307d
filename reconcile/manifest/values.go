package manifest

import (
	"encoding/json"
	"fmt"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// Value is one value of a guest, own or inherited.
type Value struct {
	Path   string          // below spec: "disks.scsi0.size", "tags[0]"
	JSON   json.RawMessage // as written: text, number, boolean; an empty list or mapping
	Origin guest.Origin
}

// Values returns the values of the guest in the order in which Render prints them, with their positions. It leaves out the classes that the guest names,
// but includes what they provide.
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

// Closest returns the label of the guest that is most similar to an unknown label, or "" if none is similar. A name without a kind stands for the guest
// with that name.
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
