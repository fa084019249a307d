package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/manifest/tree"
)

// AdoptedObject is the manifest of a live object of package kinds.
type AdoptedObject struct {
	Name string
	Data []byte
	Left []string // native keys that the manifest does not describe, sorted
}

// AdoptObject returns the manifest that describes a live object as it is and adopts it. Only the marker in its comment will be changed. ClusterName is for the
// comment in the file. Name is free among the labels of the kind; AdoptObjectName returns one.
func AdoptObject(k *kind.Kind, o cluster.Object, clusterName, name string) (AdoptedObject, error) {
	fields, left := k.RaiseAll(o)
	comment, marker := kind.SplitComment(o.Keys[k.Note.Key])
	switch {
	case marker != "":
		return AdoptedObject{}, fmt.Errorf("has the marker %s: an agent manages it", marker)
	case strings.ContainsAny(comment, "\r\n"):
		return AdoptedObject{}, errors.New("has a comment with several lines, and the agent writes one line only")
	}
	spec := yamlMap()
	add := func(name string, value *yaml.Node) { spec.Content = append(spec.Content, yamlText(name), value) }
	if name != o.ID {
		add("id", yamlText(o.ID))
	}
	if comment != "" {
		add("comment", yamlText(comment))
	}
	for _, f := range fields {
		add(f.Name, raisedNode(f.Value))
	}
	add("adopt", yamlText("ifUnmanaged"))
	var out bytes.Buffer
	fmt.Fprintf(&out, "# yaml-language-server: $schema=schema.json\n#\n# The %s %s of cluster %s, written by gitops-agent adopt.\n", k.Noun, onOneLine(o.ID), onOneLine(clusterName))
	if len(left) > 0 {
		fmt.Fprintf(&out, "#\n# Not described, and so not managed: %s\n", onOneLine(strings.Join(left, ", ")))
	}
	document, _ := tree.Encode(yamlMap( // into memory, from nodes of this package: cannot fail
		yamlText("apiVersion"), yamlText(apiVersion), yamlText("kind"), yamlText(string(k.Name)),
		yamlText("metadata"), yamlMap(yamlText("name"), yamlText(name)), yamlText("spec"), spec,
	))
	out.Write(document)
	if err := checkAdoptedObject(k, o, out.Bytes()); err != nil {
		return AdoptedObject{}, err
	}
	return AdoptedObject{Name: name, Data: out.Bytes(), Left: left}, nil
}

// checkAdoptedObject reads a manifest back, and fails if it is refused or would change the object.
func checkAdoptedObject(k *kind.Kind, o cluster.Object, data []byte) error {
	p := newParser()
	for _, n := range (File{Path: "adopted.yaml", Data: data}).documents(p.report) {
		if doc := newDocument(n, p.report); doc != nil {
			p.object(doc, k)
		}
	}
	if err := p.report.err(); err != nil {
		return fmt.Errorf("cannot be described by a manifest: %w", err)
	}
	read := p.set.Objects[0]
	if k.Native != nil {
		read, _ = k.Native(read, kind.Found{Live: o}) // no reason: the release has this object
	}
	for _, in := range read.Keys {
		live := o.Keys[in.Key]
		if in.Key == k.Note.Key {
			live, _ = kind.SplitComment(live)
		}
		if live != in.Text {
			return fmt.Errorf("cannot be described by a manifest: %s is %q, and would become %q", in.Key, live, in.Text)
		}
	}
	return nil
}

// raisedNode returns a value of a raised field.
func raisedNode(value any) *yaml.Node {
	list := func(items []*yaml.Node) *yaml.Node {
		return compact(&yaml.Node{Kind: yaml.SequenceNode, Content: items})
	}
	switch v := value.(type) {
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	case int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(v)}
	case []string:
		var items []*yaml.Node
		for _, text := range v {
			items = append(items, yamlText(text))
		}
		return list(items)
	case []int:
		var items []*yaml.Node
		for _, n := range v {
			items = append(items, raisedNode(n))
		}
		return list(items)
	case []kind.Raised:
		out := yamlMap()
		for _, f := range v {
			out.Content = append(out.Content, yamlText(f.Name), raisedNode(f.Value))
		}
		return compact(out)
	case [][]kind.Raised:
		var items []*yaml.Node
		for _, item := range v {
			items = append(items, raisedNode(item))
		}
		return &yaml.Node{Kind: yaml.SequenceNode, Content: items}
	}
	return yamlText(fmt.Sprint(value))
}

// AdoptObjectName returns a name for the manifest of a live object that is unique within its kind: its id in the letters that a name may have. Taken contains
// labels, "Pool/web".
func AdoptObjectName(k *kind.Kind, id string, taken map[string]bool) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(id)), "-.")
	if dnsName.ok(id) {
		name = id
	}
	if !dnsName.ok(name) {
		name = strings.ToLower(string(k.Name))
	}
	base := name
	for n := 2; taken[string(k.Name)+"/"+name]; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}
