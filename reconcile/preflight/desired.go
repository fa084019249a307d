package preflight

import (
	"slices"
	"strings"

	"gitops-agent/reconcile/guest"
)

// nodesOf returns the nodes that a guest names, without duplicates.
func nodesOf(d *guest.Desired) []string {
	nodes := slices.Clone(d.Nodes)
	if d.Node != "" && !slices.Contains(nodes, d.Node) {
		nodes = append(nodes, d.Node)
	}
	return nodes
}

// selectableNodes returns the nodes among which the agent chooses one for a new guest, if its manifest names them.
func selectableNodes(d *guest.Desired, exists bool) []string {
	if d.Placement == nil || exists {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(d.Placement.Nodes), func(node string) bool { return node == d.Node })
}

// storageOf returns the storage of a volume, or "" for a path.
func storageOf(volume string) string {
	storage, _, found := strings.Cut(volume, ":")
	if !found || strings.HasPrefix(volume, "/") {
		return ""
	}
	return storage
}
