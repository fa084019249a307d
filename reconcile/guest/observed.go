package guest

import "time"

// Observed is one guest as the cluster showed it at ReadAt, per native key. Keys that the table does not know are carried.
type Observed struct {
	Ref
	Node     string
	Version  Version // of the node's Proxmox VE; zero where nobody asked
	Keys     map[string]Value
	Digest   string // SHA-1 of the config file; guards writes against edits made since ReadAt
	Status   Status
	Lock     string // "backup", "clone", …; "" is unlocked
	Template bool
	HA       bool   // the guest is a resource of the HA manager
	Resource *HA    // its entry there; nil where it has none or nobody asked
	Pool     string // "" where it has none or the token may not see it
	ReadAt   time.Time
}

// Value is a native key's text now, and what waits for the next start.
type Value struct {
	Text    string
	Set     bool    // false where the key exists only as pending
	Pending *string // the text after the next start; nil where nothing waits
	Delete  bool    // the key will be gone after the next start
}

// Next returns the text that the key has after the next start, and whether it has one.
func (v Value) Next() (string, bool) {
	switch {
	case v.Delete:
		return "", false
	case v.Pending != nil:
		return *v.Pending, true
	default:
		return v.Text, v.Set
	}
}

// Status is a guest's run state as Proxmox reports it.
type Status string

// Run states of a live guest. StatusUnknown is what a lagging inventory shows; no run-state step follows from it.
const (
	StatusRunning Status = "running"
	StatusStopped Status = "stopped"
	StatusPaused  Status = "paused"
	StatusUnknown Status = "unknown"
)
