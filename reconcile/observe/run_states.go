package observe

import (
	"context"
	"sync"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// askOneByOne is how many guests of a node and kind are asked for their run states one by one. The list of a node costs Proxmox as much as a dozen such answers.
const askOneByOne = 12

// runStates is the list of the guests of a node and kind that run. It is read when the first guest needs it, once.
type runStates struct {
	node string
	kind guest.Kind

	once    sync.Once
	running map[int]bool // nil if the node did not answer
}

// confirm returns the row of a guest with the run state of the inventory if the list of its node, which does not lag, agrees with it. Otherwise the state stays unknown, and the
// guest is asked. The list does not show whether a machine is paused: that shows when the
// inventory has it.
func (s *runStates) confirm(ctx context.Context, reader cluster.Reader, row cluster.Row, inInventory guest.Status) cluster.Row {
	if s == nil || inInventory != guest.StatusRunning && inInventory != guest.StatusStopped {
		return row
	}
	s.once.Do(func() {
		running, err := reader.Running(ctx, s.node, s.kind)
		if err == nil {
			s.running = running
		}
	})
	if runs, listed := s.running[row.VMID]; listed && runs == (inInventory == guest.StatusRunning) {
		row.Status = inInventory
	}
	return row
}

// shareRunStates lets the readings of a node share the list of guests that run, if many of them need it.
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
