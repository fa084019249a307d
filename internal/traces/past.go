package traces

import (
	"slices"
	"time"

	"gitops-agent/reconcile/journal"
)

// Past is what the journal says about the processes before this one. It tells which traces this process continues.
type Past struct {
	Commit    string    // that was accepted last
	Accepted  time.Time // zero if it is not known
	Converged bool      // all its guests were in sync, or it is not known whether they were
	Refused   []Refusal
	Open      []journal.OpenStep
}

// Refusal is a commit that was refused for a reason.
type Refusal struct{ Commit, Reason string }

// maxRefused bounds how many refusals are remembered.
const maxRefused = 200

// Resume tells the recorder what happened before. It must be called before the engine begins.
func (r *Recorder) Resume(p Past) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.past = p
	for _, refusal := range p.Refused {
		r.remember(refusal)
	}
	for _, open := range p.Open {
		if _, known := r.steps[open.Step]; !known {
			r.addStep(stepFacts{
				id: open.Step, vmid: open.VMID, guest: open.Kind + "/" + open.Name, op: open.Op, class: open.Class, node: open.Node, revision: open.Revision, begun: open.Time,
			})
		}
	}
}

// remember notes a refusal, and returns whether it is new.
func (r *Recorder) remember(refusal Refusal) bool {
	if slices.Contains(r.refused, refusal) {
		return false
	}
	if len(r.refused) == maxRefused {
		r.refused = slices.Delete(r.refused, 0, 1)
	}
	r.refused = append(r.refused, refusal)
	return true
}
