package journal

import (
	"slices"
	"time"
)

// RolloutState is the progress of a rollout. It is a label of metrics.
type RolloutState string

// The states of a rollout.
const (
	RolloutRunning RolloutState = "running" // a batch is being changed, or its guests become ready
	RolloutPaused  RolloutState = "paused"  // the batch is ready, and the next one waits for the pause, or for a signed order
	RolloutFailed  RolloutState = "failed"  // the batch is not ready in time; a signed order continues
	RolloutHeld    RolloutState = "held"    // the local state was lost, so it is unknown which guests were released; a signed order continues
	RolloutAborted RolloutState = "aborted" // by a signed order; only another revision continues
	RolloutDone    RolloutState = "done"
)

// RolloutStates lists every state.
func RolloutStates() []RolloutState {
	return []RolloutState{RolloutRunning, RolloutPaused, RolloutFailed, RolloutHeld, RolloutAborted, RolloutDone}
}

// Rollout records the progress of a rollout. It replaces the name's earlier Rollout record. A record without a revision ends it.
type Rollout struct {
	Name     string       `json:"name"`
	Revision string       `json:"revision,omitempty"` // full hex id of the commit whose acceptance began it
	State    RolloutState `json:"state,omitempty"`
	Batch    int          `json:"batch,omitempty"` // that is being changed, from 1
	Batches  int          `json:"batches,omitempty"`
	Guests   int          `json:"guests,omitempty"` // of all batches
	Since    time.Time    `json:"since,omitzero"`   // when the state began, by the host's clock
	Why      string       `json:"why,omitempty"`    // of a failed or held rollout: the reason, for people
	Failed   []int        `json:"failed,omitempty"` // vmids of the guests that were not ready when the batch failed, sorted
	Order    string       `json:"order,omitempty"`  // key of the last order that changed the state
}

// Ended reports whether nothing of the rollout is left to do.
func (r Rollout) Ended() bool { return r.Revision == "" || r.State == RolloutDone }

func (r Rollout) complete() bool {
	if r.Revision == "" {
		return r.Name != ""
	}
	return r.Name != "" && slices.Contains(RolloutStates(), r.State) && r.Batch > 0 && r.Batch <= r.Batches && r.Guests > 0
}

// Staged records that a guest is part of a rollout. It replaces the guest's earlier Staged record. Until the guest is released it is held to the last
// revision that was released for it. A record without a batch ends it: the guest has the revision in force.
type Staged struct {
	VMID     int    `json:"vmid"`
	Kind     string `json:"kind,omitempty"`
	Name     string `json:"name,omitempty"`
	Rollout  string `json:"rollout,omitempty"`
	Batch    int    `json:"batch,omitempty"` // from 1
	Released bool   `json:"released,omitempty"`
	Removed  bool   `json:"removed,omitempty"` // the revision in force has no manifest of the guest

	// Of a guest that is not released: the last revision that was. They are empty if it is unknown.
	Commit string         `json:"commit,omitempty"`
	Tree   string         `json:"tree,omitempty"`
	By     []Introduction `json:"by,omitempty"` // who introduced what the guest's manifest wants in it
}

// Withheld reports whether the guest does not have the revision in force yet.
func (s Staged) Withheld() bool { return s.Batch > 0 && !s.Released }

func (Rollout) isBody() {}
func (Staged) isBody()  {}
