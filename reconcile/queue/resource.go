package queue

import (
	"cmp"
	"slices"
)

// Shared is something that bears only so much work at once, whichever guests it is for.
type Resource struct {
	Node    string // a node, by the work on its guests
	Storage string // a storage, by whole volumes that are written to it; "" is the node as such
}

// Limits are how much work the agent puts on what guests share, at once.
type Limits struct {
	PerNode    int // guests of one node; 0 is 4
	PerStorage int // copies of volumes to one storage, which locks itself while it allocates; 0 is 2
}

// For returns the limit for something shared.
func (l Limits) For(what Resource) int {
	if what.Storage != "" {
		return cmp.Or(l.PerStorage, 2)
	}
	return cmp.Or(l.PerNode, 4)
}

func CompactResources(uses []Resource) []Resource {
	slices.SortFunc(uses, func(a, b Resource) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Storage, b.Storage)) })
	return slices.Compact(uses)
}
