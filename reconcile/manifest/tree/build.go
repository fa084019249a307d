package tree

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// builder makes the nodes of one document from the YAML library's nodes, and refuses YAML that manifests do not use.
type builder struct {
	file     file
	problems []Problem
	count    int    // keys and values so far
	shown    []rune // reported, because they are shown as something else
	failed   bool   // a limit was exceeded; the document is unusable
}

func (b *builder) build(y *yaml.Node, depth int) *Node {
	n := &Node{At: b.position(y), Key: b.position(y)}
	if b.exceeds(y, depth) {
		return n
	}
	if b.refuses(y) {
		n.Tag = "!!null" // continue as if the value were not there
		return n
	}
	switch y.Kind {
	case yaml.MappingNode:
		b.mapping(n, y, depth)
	case yaml.SequenceNode:
		n.Kind = List
		for _, item := range y.Content {
			n.Items = append(n.Items, b.build(item, depth+1))
		}
	case yaml.ScalarNode, yaml.AliasNode, yaml.DocumentNode:
		n.Tag, n.Text = y.ShortTag(), y.Value
		b.checkShown(n.At, y.Value, false)
		if isMergeText(y) {
			n.Tag = "!!str"
		}
	}
	return n
}

func (b *builder) mapping(n *Node, y *yaml.Node, depth int) {
	n.Kind = Mapping
	positions := map[string]Position{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		name, at := y.Content[i].Value, b.position(y.Content[i])
		first, repeated := positions[name]
		switch {
		case b.exceeds(y.Content[i], depth):
			return
		case b.refuses(y.Content[i]):
			continue
		case y.Content[i].Kind != yaml.ScalarNode:
			b.problem(at, "got a key that is not plain text", "")
			continue
		case isMergeText(y.Content[i]):
			b.problem(at, "got a YAML merge key, which manifests do not use", shareHint)
			continue
		case repeated:
			b.problem(at, fmt.Sprintf("key %s is set twice", Quote(name)), "first at "+first.String())
			continue
		}
		b.checkShown(at, name, true)
		positions[name] = at
		value := b.build(y.Content[i+1], depth+1)
		value.Key = at
		n.Entries = append(n.Entries, Entry{name, value})
	}
}

// exceeds counts a key or a value, and reports whether the document exceeds a limit.
func (b *builder) exceeds(y *yaml.Node, depth int) bool {
	b.count++
	switch {
	case b.failed:
	case b.count > maxNodes:
		b.fail(y, fmt.Sprintf("got more than %d keys and values in one document", maxNodes))
	case depth > maxDepth:
		b.fail(y, fmt.Sprintf("got values nested deeper than %d levels", maxDepth))
	}
	return b.failed
}

const shareHint = "put what guests share in a GuestClass"

// refuses reports YAML whose cost or meaning a reader cannot see, and returns whether the value is unusable because of it: an alias can
// repeat a large value thousands of times, and a tag changes the meaning of a text. An anchor is reported, but its value is usable.
func (b *builder) refuses(y *yaml.Node) bool {
	switch {
	case y.Kind == yaml.AliasNode:
		b.problem(b.position(y), "got a YAML alias, which manifests do not use", shareHint)
		return true
	case y.Style&yaml.TaggedStyle != 0 && !isMergeText(y):
		b.problem(b.position(y), fmt.Sprintf("got the YAML tag %s, which manifests do not use", Quote(y.Tag)), "")
		return true
	case y.Anchor != "":
		b.problem(b.position(y), "got a YAML anchor, which manifests do not use", shareHint)
	}
	return false
}

func (b *builder) position(y *yaml.Node) Position {
	return b.file.at(b.file.view.seen(max(y.Line, 1), max(y.Column, 1)))
}

func (b *builder) problem(at Position, message, hint string) {
	b.problems = append(b.problems, Problem{At: at, Message: message, Hint: hint})
}

func (b *builder) fail(y *yaml.Node, message string) {
	b.failed = true
	b.problem(b.position(y), message, "")
}

// isMergeText reports whether a text is << without quotes. As a key it merges mappings. As a value it is this text, which the library, and so SOPS, writes as
// !!merge <<.
func isMergeText(y *yaml.Node) bool {
	return y.Kind == yaml.ScalarNode && y.Value == "<<" && y.ShortTag() == "!!merge"
}
