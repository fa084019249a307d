package history

import (
	"time"

	"gitops-agent/reconcile/journal"
)

// Entry is a step of a guest, or an event that concerns it.
type Entry struct {
	Time     time.Time      `json:"time"` // of a step: when it began
	Name     string         `json:"name"` // the operation of a step, or the name of an event
	Guest    string         `json:"guest,omitempty"`
	VMID     int            `json:"vmid,omitempty"`
	Class    string         `json:"class,omitempty"`
	Step     string         `json:"step,omitempty"`   // id of the step
	Result   journal.Result `json:"result,omitempty"` // of a step that has ended
	Ended    time.Time      `json:"ended,omitzero"`
	Tasks    []string       `json:"tasks,omitempty"` // UPIDs
	Text     string         `json:"text,omitempty"`  // the error of a step, or the message of an event
	Revision string         `json:"revision,omitempty"`
	Signer   string         `json:"signer,omitempty"`   // of that revision, if it is remembered
	Released string         `json:"released,omitempty"` // the signer of the order that released the step
}

// Running reports whether the entry is a step that has not ended.
func (e Entry) Running() bool { return e.Step != "" && e.Result == "" }

// Revision is a commit that was accepted or refused.
type Revision struct {
	Commit    string    `json:"commit"`
	Time      time.Time `json:"time"` // of the decision
	Signer    string    `json:"signer,omitempty"`
	Issuer    string    `json:"issuer,omitempty"`
	Proven    time.Time `json:"proven,omitzero"`    // when it was signed
	Converged time.Time `json:"converged,omitzero"` // when all its guests were in sync for the first time
	Refused   string    `json:"refused,omitempty"`  // the reason; "" if it was accepted
	Error     string    `json:"error,omitempty"`    // what is wrong with a refused one; "" if an older release refused it
	Hint      string    `json:"hint,omitempty"`     // the remedy
	Steps     int       `json:"steps,omitempty"`    // of it that have begun
}
