package cluster

import (
	"fmt"
	"slices"
)

// Capacity is what the nodes have and use, from the list of resources. Like the rest of the list it lags, so it never shows that something fits for
// sure: Proxmox refuses what does not fit.
type Capacity struct {
	Nodes    []NodeCapacity    // sorted by name
	Storages []StorageCapacity // sorted by node and storage; those that the token may see
}

// NodeCapacity is the capacity of a node. MaxMem is 0 if the node is offline, or if the token may not see it.
type NodeCapacity struct {
	Node        string
	MaxMem, Mem int64   // bytes: of the node, in use
	CPUs        float64 // logical processors
}

// StorageCapacity is the capacity of a storage on a node. A shared storage is listed for each node.
type StorageCapacity struct {
	Node, Storage string
	Size, Used    int64 // bytes
	Shared        bool
	Available     bool // the node can use it now
	Thick         bool // a volume takes its whole size when it is made, as on LVM without a thin pool
}

// Storage returns a storage on a node, and whether the list has it.
func (c Capacity) Storage(node, storage string) (StorageCapacity, bool) {
	i := slices.IndexFunc(c.Storages, func(s StorageCapacity) bool { return s.Node == node && s.Storage == storage })
	if i < 0 {
		return StorageCapacity{}, false
	}
	return c.Storages[i], true
}

// StorageIDs returns the names of the storages that a node has, sorted.
func (c Capacity) StorageIDs() []string {
	ids := make([]string, 0, len(c.Storages))
	for _, s := range c.Storages {
		ids = append(ids, s.Storage)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// InGiB returns bytes for people.
func InGiB(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }
