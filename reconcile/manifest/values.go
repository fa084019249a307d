package manifest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest"
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
	for _, e := range g.merged.entries {
		if e.name != "class" {
			out = e.value.values(out, wholeSegment(e.name))
		}
	}
	return out
}

func (n *node) values(out []Value, path string) []Value {
	for _, e := range n.entries {
		out = e.value.values(out, path+"."+wholeSegment(e.name))
	}
	for i, item := range n.items {
		out = item.values(out, fmt.Sprintf("%s[%d]", path, i))
	}
	if len(n.entries) == 0 && len(n.items) == 0 {
		out = append(out, Value{Path: path, JSON: n.json(), Origin: n.at})
	}
	return out
}

// json returns a value without any below it.
func (n *node) json() json.RawMessage {
	number := n.tag == "!!int" || n.tag == "!!float"
	switch {
	case n.kind == mapNode:
		return json.RawMessage("{}")
	case n.kind == listNode:
		return json.RawMessage("[]")
	case n.tag == "!!bool":
		return strconv.AppendBool(nil, strings.EqualFold(n.text, "true"))
	case number && json.Valid([]byte(n.text)):
		return json.RawMessage(n.text)
	default:
		return encoded(n.text)
	}
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
