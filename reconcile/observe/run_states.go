package observe

import (
	"context"
	"sync"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// askOneByOne is how many guests of a node and kind are asked for their run states one by one. The list of a node costs Proxmox as much as a dozen such answers.
const askOneByOne = 12

// runStates is the list of the run states of the guests of a node and kind. It is read when the first guest needs it, once.
type runStates struct {
	node string
	kind guest.Kind

	once  sync.Once
	known map[int]guest.Status // nil if the node did not answer
}

// confirm returns the row of a guest with the run state of the inventory if the list of its node, which does not lag, agrees with it. Otherwise the state stays unknown, and the
// guest is asked.
func (s *runStates) confirm(ctx context.Context, reader cluster.Reader, row cluster.Row, inInventory guest.Status) cluster.Row {
	if s == nil || inInventory == guest.StatusUnknown {
		return row
	}
	s.once.Do(func() {
		known, err := reader.RunStates(ctx, s.node, s.kind)
		if err == nil {
			s.known = known
		}
	})
	if state, listed := s.known[row.VMID]; listed && state == inInventory {
		row.Status = inInventory
	}
	return row
}

// shareRunStates lets the readings of a node share the list of its run states, if many of them need it.
func shareRunStates(node string, jobs []readJob) {
	need := make(map[guest.Kind]int)
	for _, job := range jobs {
		if job.row.Status == guest.StatusUnknown {
			need[job.row.Kind]++
		}
	}
	for kind, n := range need {
		if n <= askOneByOne || node == "" {
			continue
		}
		states := &runStates{node: node, kind: kind}
		for i := range jobs {
			if jobs[i].row.Kind == kind && jobs[i].row.Status == guest.StatusUnknown {
				jobs[i].states = states
			}
		}
	}
}
