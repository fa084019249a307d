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

// storageOf returns the storage of a volume, or "" for a path.
func storageOf(volume string) string {
	storage, _, found := strings.Cut(volume, ":")
	if !found || strings.HasPrefix(volume, "/") {
		return ""
	}
	return storage
}
