package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/manifest/tree"

	"gopkg.in/yaml.v3"
)

// Render returns the guest as one document with everything that it inherits. Each value is followed by its file and line. The document is read back as
// the same guest, without any class.
func (g Guest) Render() ([]byte, error) {
	spec := yamlNode(g.merged, "class")
	metadata := yamlMap(yamlText("name"), yamlText(g.Name))
	if len(g.Labels) > 0 {
		labels := yamlMap()
		for _, name := range slices.Sorted(maps.Keys(g.Labels)) {
			labels.Content = append(labels.Content, yamlText(name), yamlText(g.Labels[name]))
		}
		metadata.Content = append(metadata.Content, yamlText("labels"), labels)
	}
	document := yamlMap(
		yamlText("apiVersion"), yamlText(apiVersion), yamlText("kind"), yamlText(string(g.Kind)),
		yamlText("metadata"), metadata, yamlText("spec"), spec,
	)
	var from []string
	if g.Set != "" {
		from = append(from, fmt.Sprintf("Member of %s %s, %s:%d.", kindSet, g.Set, g.Origin.File, g.Origin.Line))
	}
	if len(g.Classes) > 0 {
		from = append(from, "With "+kindClass+" "+strings.Join(g.Classes, ", ")+".")
	}
	document.HeadComment = strings.Join(from, "\n")
	out, err := tree.Encode(document)
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", g.Label(), err)
	}
	return out, nil
}

// yamlNode returns the value for the encoder, without one entry of its mapping.
func yamlNode(n *tree.Node, leaveOut string) *yaml.Node {
	switch n.Kind {
	case tree.Mapping:
		out := &yaml.Node{Kind: yaml.MappingNode, LineComment: remark(n, len(n.Entries))}
		for _, e := range n.Entries {
			if e.Name != leaveOut {
				out.Content = append(out.Content, yamlText(e.Name), yamlNode(e.Value, ""))
			}
		}
		return out
	case tree.List:
		out := &yaml.Node{Kind: yaml.SequenceNode, LineComment: remark(n, len(n.Items))}
		for _, item := range n.Items {
			out.Content = append(out.Content, yamlNode(item, ""))
		}
		return out
	case tree.Scalar:
	}
	out := &yaml.Node{Kind: yaml.ScalarNode, Tag: n.Tag, Value: n.Text, LineComment: remark(n, 0)}
	if n.Tag == "!!str" {
		out.SetString(n.Text)
	}
	return out
}

// remark returns the position of a value without values below it. Values below it have positions of their own.
func remark(n *tree.Node, below int) string {
	if below > 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", n.At.File, n.At.Line)
}

func yamlText(s string) *yaml.Node {
	out := &yaml.Node{}
	out.SetString(s)
	return out
}

// yamlMap returns a mapping of alternating names and values.
func yamlMap(namesAndValues ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Content: namesAndValues}
}
