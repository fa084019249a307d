package queue

import (
	"cmp"
	"slices"
)

// Resource is something that guests share and that can serve only a limited amount of work at once.
type Resource struct {
	Node    string // a node: counts the work on its guests
	Storage string // a storage: counts the whole volumes that are written to it; "" is the node itself
}

// Limits are how much work may use one resource at once.
type Limits struct {
	PerNode    int // guests of one node; 0 is 4
	PerStorage int // copies of volumes to one storage, which locks itself while it allocates; 0 is 2
}

// For returns the limit of a resource.
func (l Limits) For(r Resource) int {
	if r.Storage != "" {
		return cmp.Or(l.PerStorage, 2)
	}
	return cmp.Or(l.PerNode, 4)
}

// CompactResources sorts resources by node and storage, and removes duplicates.
func CompactResources(uses []Resource) []Resource {
	slices.SortFunc(uses, func(a, b Resource) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Storage, b.Storage)) })
	return slices.Compact(uses)
}
