package plan

import (
	"gitops-agent/reconcile/queue"
)

// Uses returns what the step shares with the steps of other guests: the nodes that its calls go to, and the storages that it writes
// whole volumes to, by name alone, since a storage of one name may be one for all nodes.
func (s Step) Uses() []queue.Shared {
	var uses []queue.Shared
	for _, c := range s.Calls {
		uses = append(uses, queue.Shared{Node: c.Node})
	}
	for _, storage := range s.Copies {
		uses = append(uses, queue.Shared{Storage: storage})
	}
	return queue.CompactShared(uses)
}
