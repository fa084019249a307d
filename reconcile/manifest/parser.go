package manifest

import (
	"path"

	"gitops-agent/reconcile/manifest/tree"
)

// parser collects the contents of the files.
type parser struct {
	report   *report
	set      Set
	defaults defaults
	classes  classes
	guests   []*document
	firsts   map[string]tree.Position // label -> position of the document
	specs    map[string]spec          // label of the guest -> decoded spec
	named    map[string]bool          // classes that a guest names
}

// folder returns the folder of the Cluster's file, "." for the root. The paths of selectors are relative to it.
func (p *parser) folder() string { return path.Dir(p.set.Cluster.Origin.File) }
