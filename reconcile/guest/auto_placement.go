package guest

import "slices"

// Placement says how the agent chooses the node of a new guest. It has no effect on a guest that exists.
type Placement struct {
	Prefer       Preference
	AntiAffinity []string // names of labels: the guest avoids nodes with guests that have the same value
	Nodes        []string // that may be chosen; empty is every node
}

// Preference is what the chosen node has least of.
type Preference string

// The preferences.
const (
	LeastMemory Preference = "least-memory"
	LeastCPU    Preference = "least-cpu"
	Spread      Preference = "spread" // guests
)

// Allows reports whether a node may be chosen.
func (p *Placement) Allows(node string) bool {
	return len(p.Nodes) == 0 || slices.Contains(p.Nodes, node)
}
