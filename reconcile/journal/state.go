package journal

import "time"

// State is what the journal's records add up to at one moment. It is safe to keep, and to read from any goroutine; its maps
// are shared with other readers and must not be changed.
type State struct {
	Lineage    string            // names this chain; another one means that the history before it is lost
	Since      time.Time         // when the lineage began: no order proven earlier may run under it
	Seq        uint64            // of the last record; 0 when there is none
	Accepted   *Accepted         // the last accepted revision, nil before the first
	AcceptedAt time.Time         // when it was accepted
	Open       []OpenStep        // begun and not ended, in the order they began
	Assigned   map[Label]int     // vmid by label
	Owned      map[int]Owned     // by vmid
	Guarded    map[int]Guarded   // by vmid; lasts until the guest is disowned
	Applied    map[int]Applied   // by vmid; lasts until the guest is disowned
	Futile     map[int]Futile    // by vmid; lasts until the guest is disowned
	Orders     map[string]Order  // by key; compaction and Open forget those that ended Retain.Orders ago
	Freed      map[int]time.Time // when the guests of vmids were disowned in the last 24 hours
	Destroys   []time.Time       // when destroys ended in the last 24 hours, done or unknown, oldest first
}

// Label is how a manifest calls a guest.
type Label struct{ Kind, Name string }

// OpenStep is a step without an outcome.
type OpenStep struct {
	Begun
	Seq        uint64    // of the Begun record
	Time       time.Time // when it began
	Dispatched int       // how many calls Proxmox is known to have taken; 0 means that it may or may not have taken one
	UPID       string    // of the last of them; empty where Proxmox answered synchronously
}

// Order is the last that is known of an order.
type Order struct {
	Ordered
	Time time.Time // when that became known
}

// How long what is over still counts: destroys against the cluster's limit, and disowned guests as the last ones of their vmids.
const (
	destroyWindow = 24 * time.Hour
	freedWindow   = 24 * time.Hour
)
