package tree

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Position is a place in a file. Line and Column count from 1.
type Position struct {
	File         string
	Line, Column int
}

// String returns "guests/web.yaml:12:5", or the empty string for the zero Position.
func (p Position) String() string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Kind is the kind of a Node.
type Kind int

// The kinds of nodes.
const (
	Scalar Kind = iota
	List
	Mapping
)

// Node is a YAML value with its position. Callers do not change a Node; merging two nodes makes a new one.
type Node struct {
	Kind    Kind
	At      Position // of the value
	Key     Position // of the key in front of the value; the same as At where there is no key
	Tag     string   // of a scalar: "!!str", "!!int", "!!null"...
	Text    string   // of a scalar
	Items   []*Node  // of a list
	Entries []Entry  // of a mapping, in the order of the file; the names are unique
}

// Entry is one key of a mapping with its value.
type Entry struct {
	Name  string
	Value *Node
}

// IsNull reports whether the value is empty or an explicit null.
func (n *Node) IsNull() bool { return n.Kind == Scalar && n.Tag == "!!null" }

// Get returns the value of a name, or nil if n has no such name or is not a mapping.
func (n *Node) Get(name string) *Node {
	for _, e := range n.Entries {
		if e.Name == name {
			return e.Value
		}
	}
	return nil
}

// Count returns the number of keys and values at and below n.
func (n *Node) Count() int {
	count := 1
	for _, e := range n.Entries {
		count += 1 + e.Value.Count()
	}
	for _, item := range n.Items {
		count += item.Count()
	}
	return count
}

// Equal compares two values without their positions. The order of the entries of a mapping does not matter.
func (n *Node) Equal(other *Node) bool {
	if n.Kind != other.Kind || n.Tag != other.Tag || n.Text != other.Text || len(n.Entries) != len(other.Entries) {
		return false
	}
	for _, e := range n.Entries {
		if value := other.Get(e.Name); value == nil || !e.Value.Equal(value) {
			return false
		}
	}
	return slices.EqualFunc(n.Items, other.Items, (*Node).Equal)
}

// JSON returns a scalar as JSON. A list and a mapping are returned empty, without the values in them.
func (n *Node) JSON() json.RawMessage {
	number := n.Tag == "!!int" || n.Tag == "!!float"
	switch {
	case n.Kind == Mapping:
		return json.RawMessage("{}")
	case n.Kind == List:
		return json.RawMessage("[]")
	case n.Tag == "!!bool":
		return strconv.AppendBool(nil, strings.EqualFold(n.Text, "true"))
	case number && json.Valid([]byte(n.Text)):
		return json.RawMessage(n.Text)
	default:
		text, _ := json.Marshal(n.Text) // a string always encodes
		return text
	}
}

// Describe returns the value for a message: "a mapping", "nothing", "12", or a quoted text.
func (n *Node) Describe() string {
	switch {
	case n.Kind == Mapping:
		return "a mapping"
	case n.Kind == List:
		return "a list"
	case n.IsNull():
		return "nothing"
	case n.Tag == "!!str":
		return Quote(n.Text)
	default:
		return Shorten(n.Text)
	}
}

// Quote returns a text for a message: shortened, in quotes.
func Quote(text string) string { return strconv.Quote(Shorten(text)) }

// Shorten cuts a text to 60 characters, so that a message stays one readable line.
func Shorten(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
