package plan

import (
	"time"
)

// ConditionType names a fact about a guest that a person should know.
type ConditionType string

// Condition types.
const (
	Drifted          ConditionType = "Drifted"
	PendingRestart   ConditionType = "PendingRestart"
	Held             ConditionType = "Held"
	Blocked          ConditionType = "Blocked"
	Failed           ConditionType = "Failed"
	IdentityConflict ConditionType = "IdentityConflict"
	Suspended        ConditionType = "Suspended"
	NotObserved      ConditionType = "Unknown"
	WaitsFor         ConditionType = "WaitsFor"
	Orphaned         ConditionType = "Orphaned"
	Leftover         ConditionType = "Leftover" // volumes belong to the guest that no slot uses
	Warned           ConditionType = "Warned"   // nothing is wrong: tasks of the last work on the guest had warnings, or somebody cloned it with its marker
)

// Condition is one fact about a guest, with the reason, the time it began and the revision it speaks of.
type Condition struct {
	Type     ConditionType `json:"type"`
	Reason   string        `json:"reason"`           // closed vocabulary, kebab-case
	Message  string        `json:"message"`          // for people
	Hint     string        `json:"hint,omitempty"`   // what would end it
	Digest   string        `json:"digest,omitempty"` // of the held step, for an approval
	Since    time.Time     `json:"since,omitzero"`
	Revision string        `json:"revision,omitempty"`
}
