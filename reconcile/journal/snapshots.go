package journal

import (
	"slices"
	"time"
)

// Snapshots records the snapshots that the agent has taken of a guest by the schedule of its manifest. It replaces the guest's earlier Snapshots record.
type Snapshots struct {
	VMID     int             `json:"vmid"`
	Identity string          `json:"identity"`         // of the guest; the record says nothing about another guest with this vmid
	Due      time.Time       `json:"due,omitzero"`     // the newest time of the schedule for which a call was journaled, or for which none is made
	Failed   string          `json:"failed,omitempty"` // why there is no snapshot of that time; "" if there is one, or if its call has not ended
	Taken    []TakenSnapshot `json:"taken,omitempty"`  // the oldest first; one whose call has not ended may not exist
}

// TakenSnapshot is a snapshot of the agent. Name and key together identify it: the key is in its description.
type TakenSnapshot struct {
	Name   string `json:"name"`
	Key    string `json:"key"`
	Keep   int    `json:"keep"`             // it stays until that many newer ones exist
	Failed string `json:"failed,omitempty"` // why it could not be deleted; it is tried again when the next one was taken
}

func (s Snapshots) complete() bool {
	bad := func(t TakenSnapshot) bool { return t.Name == "" || t.Key == "" || t.Keep < 1 }
	return s.VMID > 0 && s.Identity != "" && !slices.ContainsFunc(s.Taken, bad)
}
