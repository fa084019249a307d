package report

import (
	"fmt"
	"time"

	"gitops-agent/reconcile/journal"
)

// Rollout is how far a change has reached the guests that share a rollout.
type Rollout struct {
	Name     string               `json:"name"`
	Revision string               `json:"revision"` // commit id; orders name it
	State    journal.RolloutState `json:"state"`
	Batch    int                  `json:"batch"` // that is being changed, from 1
	Batches  int                  `json:"batches"`
	Guests   int                  `json:"guests"`         // of all batches
	Withheld int                  `json:"withheld"`       // guests that do not have the revision yet
	Since    time.Time            `json:"since,omitzero"` // when the state began
	Why      string               `json:"why,omitempty"`  // what it waits for, or why it failed
	Hint     string               `json:"hint,omitempty"` // what continues or reverts it
	Failed   []string             `json:"failed,omitempty"`
}

// Ended reports whether every guest has the revision.
func (r Rollout) Ended() bool { return r.State == journal.RolloutDone }

// Label returns "Rollout/web".
func (r Rollout) Label() string { return "Rollout/" + r.Name }

// Text returns the state in a line: "batch 3 of 11 has failed, 159 of 200 guests wait".
func (r Rollout) Text() string {
	words := map[journal.RolloutState]string{
		journal.RolloutRunning: "is being changed", journal.RolloutPaused: "is ready", journal.RolloutFailed: "has failed", journal.RolloutHeld: "is held",
		journal.RolloutAborted: "was aborted", journal.RolloutDone: "is done",
	}
	return fmt.Sprintf("batch %d of %d %s, %d of %d guests wait", r.Batch, r.Batches, words[r.State], r.Withheld, r.Guests)
}
