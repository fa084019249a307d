package manifest

import (
	"path"

	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/manifest/tree"
)

// parser collects the contents of the files.
type parser struct {
	report   *report
	mistakes *report // in policies: they refuse nothing
	set      Set
	defaults defaults
	classes  classes
	rollouts []*clusterRollout // of the Cluster
	imports  textList          // of the Cluster
	guests   []*document
	images   images
	firsts   map[string]tree.Position // label -> position of the document
	specs    map[string]spec          // label of the guest -> decoded spec
	setOf    map[string]string        // label of the guest -> name of its GuestSet
	named    map[string]bool          // classes that a guest names
	partial  map[string]guest.Desired // label of the guest -> what was understood of it
	misnamed []string                 // files: see IsMisnamed
	anyRead  bool                     // a file is a manifest by its name

	before remembered  // of the tree before in a Series
	now    *remembered // of this tree, nil if it is not one of a Series
}

func newParser() *parser {
	return &parser{
		report: &report{}, mistakes: &report{}, classes: classes{}, firsts: map[string]tree.Position{}, images: images{}, specs: map[string]spec{}, setOf: map[string]string{}, named: map[string]bool{},
		partial: map[string]guest.Desired{},
	}
}

// folder returns the folder of the Cluster's file, "." for the root. The paths of selectors are relative to it.
func (p *parser) folder() string { return path.Dir(p.set.Cluster.Origin.File) }
