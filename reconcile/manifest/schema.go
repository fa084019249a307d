package manifest

import (
	"encoding/json"
	"fmt"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/kinds"
	"gitops-agent/reconcile/policy"
)

// Schema returns the JSON Schema (2020-12) of every kind, as indented JSON that ends in a newline. It is generated from the tables that decode
// manifests. It describes single values; only Parse checks rules between fields or files.
func Schema() ([]byte, error) {
	kind := &schema{Type: []string{"string"}}
	root := schema{
		Dialect: "https://json-schema.org/draft/2020-12/schema", Title: "Manifests of gitops-agent, " + apiVersion,
		Type: []string{"object"}, Required: []string{"apiVersion", "kind", "metadata"},
		Properties: map[string]*schema{"kind": kind},
		Defs: map[string]*schema{
			string(guest.VirtualMachine): objectSchema(newSpec(guest.VirtualMachine)),
			string(guest.Container):      objectSchema(newSpec(guest.Container)),
			kindClass:                    objectSchema(&classSpec{}),
			kindCluster:                  objectSchema(&clusterSpec{}),
			kindSet:                      setSchema(),
			string(image.Kind):           objectSchema(&imageSpec{}),
			string(policy.Kind):          objectSchema(&policySpec{}),
		},
	}
	for _, k := range kinds.All() {
		root.Defs[string(k.Name)] = objectSchema(newObjectSpec(k))
	}
	for _, name := range kindNames {
		kind.Enum = append(kind.Enum, new(name))
		root.AllOf = append(root.AllOf, documentSchema(name))
	}
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode schema: %w", err)
	}
	return append(data, '\n'), nil
}

// documentSchema describes a document of a kind. It is a condition, so that an editor can report the wrong field. As one of several alternatives, an
// editor could only report that none of them matches.
func documentSchema(kind string) *schema {
	whole := objectSchema(&document{})
	whole.Type = []string{"object"}
	whole.Properties["apiVersion"].Const = apiVersion
	whole.Properties["metadata"].Required = []string{"name"}
	whole.Properties["spec"] = definition(kind)
	is := &schema{Required: []string{"kind"}, Properties: map[string]*schema{"kind": {Const: kind}}}
	return &schema{If: is, Then: whole}
}
