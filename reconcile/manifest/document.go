package manifest

import (
	"strings"

	"gitops-agent/reconcile/manifest/tree"
)

// document contains the fields that every kind has.
type document struct {
	apiVersion, kind opt[string]
	meta             metadata
	spec             *tree.Node // nil if there is none
	at               tree.Position
	from             documentKey
}

type metadata struct {
	name                opt[string]
	labels, annotations textMap
}

func (d *document) fields() []field {
	return []field{
		{"apiVersion", "", apiVersion + ".", text(&d.apiVersion, anyText)},
		{"kind", "", strings.Join(kindNames, ", ") + ".", text(&d.kind, anyText)},
		{"metadata", "", "Name and labels.", group(&d.meta)},
		{"spec", "", "What is wanted.", subtree(&d.spec, "")},
	}
}

func (m *metadata) fields() []field {
	return []field{
		{"name", "", "Name within the repository, unique in its kind.", text(&m.name, dnsName)},
		{"labels", "", "Names and values to select guests by. Not sent to the cluster.", withExamples(labels(&m.labels), `{"tier": "web", "stage": "prod"}`)},
		{"annotations", "", "Names and values for other tools. Not sent to the cluster.", dictionary(&m.annotations, labelName)},
	}
}

// label names the document in messages and orders: "VirtualMachine/web-1".
func (d *document) label() string {
	if d.kind.value == "" || d.meta.name.value == "" {
		return ""
	}
	return d.kind.value + "/" + d.meta.name.value
}

// labels returns metadata.labels, nil if there are none.
func (d *document) labels() map[string]string {
	if len(d.meta.labels) == 0 {
		return nil
	}
	labels := make(map[string]string, len(d.meta.labels))
	for name, value := range d.meta.labels {
		labels[name] = value.value
	}
	return labels
}
