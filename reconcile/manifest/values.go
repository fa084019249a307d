package manifest

import (
	"encoding/json"
	"fmt"
	"strings"

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
func (s Set) Closest(label string) string { return Closest(label, s.Labels()) }

// Labels returns the labels of all guests, sorted.
func (s Set) Labels() []string {
	labels := make([]string, 0, len(s.Guests))
	for _, g := range s.Guests {
		labels = append(labels, g.Label())
	}
	return labels
}

// Closest returns the label that is most similar to an unknown one, or "" if none is similar. A name without a kind stands for the first label with that name.
func Closest(label string, labels []string) string {
	for _, l := range labels {
		if _, name, _ := strings.Cut(l, "/"); name == label {
			return l
		}
	}
	return closest(label, labels)
}
