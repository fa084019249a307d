package guest

import (
	"fmt"
	"time"
)

// Observed is one guest as the cluster showed it at ReadAt, by native key. It includes keys that the table does not contain.
type Observed struct {
	Ref
	Node     string
	Version  Version // of the node's Proxmox VE; zero if it was not read
	Keys     map[string]Value
	Digest   string // SHA-1 of the config file; guards writes against edits made since ReadAt
	Status   Status
	Lock     string // "backup", "clone", …; "" is unlocked
	Template bool
	HA       bool   // the guest is a resource of the HA manager
	Resource *HA    // its entry with the HA manager; nil if it has none or it was not read
	Pool     string // "" if it has none or the token may not see it
	ReadAt   time.Time
	Process  *Process // nil if the guest does not run, or if its run state was not read from the guest itself

	Firewall *FirewallSeen // nil if it was not read, since only some manifests describe one

	Snapshots *Snapshots // of the same configuration; nil if they were not read, since only some orders need them
}

// Value is the text of a native key now, and its pending change for the next start.
type Value struct {
	Text    string
	Set     bool    // false if the key exists only as a pending change
	Pending *string // the text after the next start; nil if nothing is pending
	Delete  bool    // the key will be gone after the next start
}

// Next returns the text that the key has after the next start, and whether the key then exists.
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

// Run states of a live guest. StatusUnknown comes from an inventory that is out of date; no run-state step follows from it.
const (
	StatusRunning Status = "running"
	StatusStopped Status = "stopped"
	StatusPaused  Status = "paused"
	StatusUnknown Status = "unknown"
)

// Process is the process of a running guest. A reboot from inside a virtual machine keeps it, and a live migration starts another one without a boot.
type Process struct {
	PID    int
	Uptime time.Duration // in whole seconds
}

// HA is a guest's entry with the HA manager, as Proxmox shows it.
//
// Source: PVE API, GET /cluster/ha/resources.
type HA struct {
	State       string // started, stopped, disabled, ignored
	MaxRestart  int    // attempts on one node
	MaxRelocate int    // attempts on other nodes
	NoFailback  bool   // it stays where it is when a node with a higher priority comes back; from Proxmox VE 9 on
	Group       string // before Proxmox VE 9
}

// String returns "started, restart 1, relocate 1", and with NoFailback ", no failback".
func (h HA) String() string {
	text := fmt.Sprintf("%s, restart %d, relocate %d", h.State, h.MaxRestart, h.MaxRelocate)
	if h.NoFailback {
		text += ", no failback"
	}
	return text
}
