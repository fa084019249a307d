package preflight

import (
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kind/pool"
	"gitops-agent/reconcile/plan"
)

// ClusterContext is what the cluster shows of the things to which guests refer. A nil list was not read, and is not checked.
type ClusterContext struct {
	Nodes, Pools   []string
	Storages       []cluster.Storage
	Inventory      cluster.Inventory
	Granted        Granted         // privileges of the token; nil if they were not read
	Objects        []kind.Desired  // of all manifests: the agent makes them, and a guest waits for them
	Images         []image.Desired // of all manifests: the agent lets nodes download their files, and a guest waits for them
	Changing       []kind.Desired  // of these objects, what they name is checked
	ChangingImages []image.Desired // of these Images, too
	Made           []guest.Desired // the guests of all manifests: a clone waits for the one that is going to be its template
	Contents       map[Source]Content
	Takings        []plan.Taking          // what the plan takes of storages for guests that exist
	Templates      map[int]guest.Observed // of clones that do not exist yet, by vmid, as far as they were read
	Firewall       FirewallNames
}

// storage returns a storage, and whether the cluster shows it.
func (c ClusterContext) storage(name string) (cluster.Storage, bool) {
	i := slices.IndexFunc(c.Storages, func(s cluster.Storage) bool { return s.ID == name })
	if i < 0 {
		return cluster.Storage{}, false
	}
	return c.Storages[i], true
}

// canHold reports whether a storage may have a type of content on a node, as far as the cluster shows it.
func (c ClusterContext) canHold(name, content, node string) bool {
	s, shown := c.storage(name)
	return shown && !s.Disabled && s.IsOn(node) && s.Allows(content)
}

// makes reports whether a volume is the file of an Image on a node.
func (c ClusterContext) makes(volume, node string) bool {
	return slices.ContainsFunc(c.Images, func(d image.Desired) bool { return d.Volume() == volume && d.IsOn(node) })
}

// hasPool reports whether a pool exists or the agent makes it. The agent does not make an object that it only observes.
func (c ClusterContext) hasPool(id string) bool {
	return slices.Contains(c.Pools, id) || slices.ContainsFunc(c.Objects, func(d kind.Desired) bool { return d.Kind == pool.Name && d.ID == id && !d.Observe })
}
