package manifest

import (
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"gitops-agent/reconcile/guest"
)

// Bounds of untrusted input. A guest needs a hundred values and a depth of seven.
const (
	maxFile  = 1 << 20 // bytes of one file
	maxNodes = 10000   // keys and values of one document
	maxDepth = 24      // levels of one document
)

type nodeKind int

const (
	scalarNode nodeKind = iota
	listNode
	mapNode
)

// node is a YAML value and the place it was read from. It is immutable once built; merging makes new ones.
type node struct {
	kind    nodeKind
	at      guest.Origin // of the value
	key     guest.Origin // of the key that leads to it; at, where none does
	tag     string       // of a scalar: "!!str", "!!int", "!!null"...
	text    string       // of a scalar
	items   []*node
	entries []entry // in the order of the file, names unique
}

type entry struct {
	name  string
	value *node
}

// null says whether the value is empty or an explicit null.
func (n *node) null() bool { return n.kind == scalarNode && n.tag == "!!null" }

// get returns the value of a name, nil where the mapping has none or n is no mapping.
func (n *node) get(name string) *node {
	for _, e := range n.entries {
		if e.name == name {
			return e.value
		}
	}
	return nil
}

// describe names the value in a message.
func (n *node) describe() string {
	switch {
	case n.kind == mapNode:
		return "a mapping"
	case n.kind == listNode:
		return "a list"
	case n.null():
		return "nothing"
	case n.tag == "!!str":
		return quote(n.text)
	default:
		return shorten(n.text)
	}
}

func quote(text string) string { return strconv.Quote(shorten(text)) }

// shorten keeps a message to one readable line.
func shorten(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

// builder turns the nodes of one document into ours, and refuses what manifests do not use.
type builder struct {
	file   string
	report *report
	nodes  int
	failed bool // a bound was hit; the document is unusable
}

func (b *builder) build(y *yaml.Node, depth int) *node {
	n := &node{at: b.origin(y), key: b.origin(y)}
	if b.spent(y, depth) {
		return n
	}
	if b.refuses(y) {
		n.tag = "!!null" // read on as if it were not there
		return n
	}
	switch y.Kind {
	case yaml.MappingNode:
		b.mapping(n, y, depth)
	case yaml.SequenceNode:
		n.kind = listNode
		for _, item := range y.Content {
			n.items = append(n.items, b.build(item, depth+1))
		}
	case yaml.ScalarNode, yaml.AliasNode, yaml.DocumentNode:
		n.tag, n.text = y.ShortTag(), y.Value
	}
	return n
}

func (b *builder) mapping(n *node, y *yaml.Node, depth int) {
	n.kind = mapNode
	places := map[string]guest.Origin{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		name, at := y.Content[i].Value, b.origin(y.Content[i])
		first, twice := places[name]
		switch {
		case b.spent(y.Content[i], depth):
			return
		case b.refuses(y.Content[i]):
			continue
		case y.Content[i].Kind != yaml.ScalarNode:
			b.problem(at, "got a key that is no plain text", "")
			continue
		case y.Content[i].ShortTag() == "!!merge":
			b.problem(at, "got a YAML merge key, which manifests do not use", "name what guests share in a GuestClass")
			continue
		case twice:
			b.problem(at, fmt.Sprintf("key %s is set twice", quote(name)), "first at "+first.String())
			continue
		}
		places[name] = at
		value := b.build(y.Content[i+1], depth+1)
		value.key = at
		n.entries = append(n.entries, entry{name, value})
	}
}

// spent counts a key or a value, and says whether the document has more of them than it may.
func (b *builder) spent(y *yaml.Node, depth int) bool {
	b.nodes++
	switch {
	case b.failed:
	case b.nodes > maxNodes:
		b.fail(y, fmt.Sprintf("got more than %d keys and values in one document", maxNodes))
	case depth > maxDepth:
		b.fail(y, fmt.Sprintf("got values nested deeper than %d levels", maxDepth))
	}
	return b.failed
}

// refuses reports YAML whose cost or meaning a reader cannot see, and says whether the value is unusable for it: an alias can
// repeat a large value thousands of times, and a tag changes what a text means.
func (b *builder) refuses(y *yaml.Node) bool {
	hint := "name what guests share in a GuestClass"
	switch {
	case y.Kind == yaml.AliasNode:
		b.problem(b.origin(y), "got a YAML alias, which manifests do not use", hint)
		return true
	case y.Style&yaml.TaggedStyle != 0:
		b.problem(b.origin(y), fmt.Sprintf("got the YAML tag %s, which manifests do not use", quote(y.Tag)), "")
		return true
	case y.Anchor != "":
		b.problem(b.origin(y), "got a YAML anchor, which manifests do not use", hint)
	}
	return false
}

func (b *builder) origin(y *yaml.Node) guest.Origin {
	return guest.Origin{File: b.file, Line: max(y.Line, 1), Column: max(y.Column, 1)}
}

func (b *builder) problem(at guest.Origin, message, hint string) {
	b.report.add(Problem{Origin: at, Message: message, Hint: hint})
}

func (b *builder) fail(y *yaml.Node, message string) {
	b.failed = true
	b.problem(b.origin(y), message, "")
}

// segment returns a key as part of a field path in a message.
func segment(name string) string {
	if quotes(name) {
		return quote(name)
	}
	return shorten(name)
}

// wholeSegment returns a key as part of a field path, however long it is.
func wholeSegment(name string) string {
	if quotes(name) {
		return strconv.Quote(name)
	}
	return name
}

// quotes reports whether a key would be misread as part of a path.
func quotes(name string) bool {
	return name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`".:`, r) })
}
