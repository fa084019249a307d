package manifest

import "gitops-agent/reconcile/manifest/tree"

// subtree is a row that is decoded later, with the fields of a kind.
func subtree(into **tree.Node, kind string) value { return subtreeValue{into, kind} }

type subtreeValue struct {
	into **tree.Node
	kind string
}

func (v subtreeValue) decode(d decoder, n *tree.Node) {
	if n.Kind != tree.Mapping {
		d.problem(n.At, "got "+n.Describe()+", want a mapping", "")
		return
	}
	*v.into = n
}

func (v subtreeValue) lower(*lowering, string) {}

func (v subtreeValue) schema() *schema { return definition(v.kind) }

func (v subtreeValue) walk(string, func(path string, row field)) {}
