package manifest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// write returns the current document, and the fields that it contains.
func (a *adoption) write() ([]byte, *raising) {
	s := newSpec(a.seen.Kind)
	r := &raising{kind: a.seen.Kind, node: a.seen.Version, keys: map[string]*liveKey{}, firewall: a.firewall}
	for name, text := range a.live {
		if !a.raw[name] {
			r.keys[name] = newLiveKey(a.seen.Kind, name, text)
		}
	}
	for name := range a.left {
		if key, sub, isSub := strings.Cut(name, "."); isSub && r.keys[key] != nil {
			r.keys[key].leaveOut(sub)
		}
	}
	fields := raiseObject(r, s)
	if fields == nil {
		fields = &tree.Node{Kind: tree.Mapping}
	}
	var out bytes.Buffer
	out.WriteString(a.header())
	document, _ := tree.Encode(yamlMap( // into memory, from nodes of this package: cannot fail
		yamlText("apiVersion"), yamlText(apiVersion), yamlText("kind"), yamlText(string(a.seen.Kind)),
		yamlText("metadata"), yamlMap(yamlText("name"), yamlText(a.opts.Name)), yamlText("spec"), a.spec(fields),
	))
	out.Write(document)
	return out.Bytes(), r
}

// header returns the comment with the origin of the document and what it leaves out.
func (a *adoption) header() string {
	var b strings.Builder
	b.WriteString("# yaml-language-server: $schema=schema.json\n#\n")
	fmt.Fprintf(&b, "# Guest %d of cluster %s as it was on node %s at %s, written by gitops-agent adopt.\n",
		a.seen.VMID, onOneLine(a.opts.Cluster), onOneLine(a.seen.Node), a.readAt())
	if left := a.leftOut(); len(left) > 0 {
		b.WriteString("#\n# Not pinned, and so not managed:\n")
		for _, l := range left {
			fmt.Fprintf(&b, "#   %s: %s\n", l.Key, l.Reason)
		}
	}
	return b.String()
}

// spec returns the fields of every adopted guest, then the raised fields, then the raw keys.
func (a *adoption) spec(fields *tree.Node) *yaml.Node {
	source := yamlText("source") // null drops a source of a class or of the Cluster, which would create the guest again without notice
	source.HeadComment = "If the guest disappears, the agent reports it. To have the agent create it again, without its data, replace null by:\n" + a.sourceLine()
	power := yamlText(string(guest.Ignored))
	power.LineComment = "it was " + string(a.seen.Status)
	out := yamlMap(
		yamlText("vmid"), &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(a.seen.VMID)},
		yamlText("adopt"), yamlText("ifUnmanaged"),
		source, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, yamlText("state"), power,
	)
	for _, e := range fields.Entries {
		out.Content = append(out.Content, yamlText(e.Name), styled(e.Value))
	}
	raw := &yaml.Node{Kind: yaml.MappingNode}
	for _, key := range slices.Sorted(maps.Keys(a.raw)) {
		text := newLiveKey(a.seen.Kind, key, a.live[key]).raw()
		raw.Content = append(raw.Content, yamlText(key), styled(scalarOf("!!str", text)))
	}
	if len(raw.Content) > 0 {
		out.Content = append(out.Content, yamlText("raw"), raw)
	}
	return out
}

// sourceLine is the field with which the agent could create the guest again. The data on its disks would be lost, so the field is only a comment.
func (a *adoption) sourceLine() string {
	if a.seen.Kind == guest.Container {
		return "source: {template: {volume: STORAGE:vztmpl/TEMPLATE}}"
	}
	return "source: {blank: {}}"
}

// styled returns a value for people: short values on one line, texts with several lines as block text.
func styled(n *tree.Node) *yaml.Node {
	switch n.Kind {
	case tree.Mapping:
		out := &yaml.Node{Kind: yaml.MappingNode}
		for _, e := range n.Entries {
			out.Content = append(out.Content, yamlText(e.Name), styled(e.Value))
		}
		return compact(out)
	case tree.List:
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range n.Items {
			out.Content = append(out.Content, styled(item))
		}
		return compact(out)
	case tree.Scalar:
	}
	out := &yaml.Node{Kind: yaml.ScalarNode, Tag: n.Tag, Value: n.Text}
	if strings.ContainsAny(n.Text, "\n\r\t") {
		out.Style = yaml.DoubleQuotedStyle
		if plainLines(n.Text) {
			out.Style = yaml.LiteralStyle
		}
	}
	return out
}

// compact puts a value on one line if it is short and contains no block text or nested mapping.
func compact(n *yaml.Node) *yaml.Node {
	const widest = 100 // bytes
	width := 0
	for _, c := range n.Content {
		width += len(c.Value) + len(", ")
		if len(c.Content) > 0 && c.Kind == yaml.MappingNode || c.Style == yaml.LiteralStyle {
			return n
		}
		for _, item := range c.Content {
			width += len(item.Value) + len(", ")
		}
	}
	if width <= widest {
		n.Style = yaml.FlowStyle
	}
	return n
}

// plainLines reports whether a text with several lines is read back unchanged if it is written as block text.
func plainLines(text string) bool {
	for i, line := range strings.Split(text, "\n") {
		switch {
		case i == 0 && (line == "" || line[0] == ' '), strings.TrimRight(line, " ") != line, strings.ContainsAny(line, "\t\r\ufeff\u0085\u2028\u2029"):
			return false
		}
	}
	return true
}
