package journal

import (
	"time"

	"gitops-agent/reconcile/object"
)

// State is the result of folding the journal's records at one moment. A caller may keep it and read it from any goroutine. The maps
// are shared with other readers and must not be changed.
type State struct {
	Unread              error                      // why the journal may have records that are missing here; nil if it has none
	Lineage             string                     // identifies this chain; a new lineage means that the earlier history is lost
	Since               time.Time                  // start of the lineage: no order proven earlier may run
	Seq                 uint64                     // of the last record; 0 if there is none
	Accepted            *Accepted                  // the last accepted revision; nil before the first
	AcceptedAt          time.Time                  // time of that acceptance
	Evidence            *Evidence                  // about the accepted revision; nil if its signature contains what the log knows
	Open                []OpenStep                 // begun and not ended, in the order in which they began
	Downloaded          map[FileOn]File            // files that nodes downloaded for the agent
	Objects             map[ObjectID]OwnedObject   // that the agent owns, apart from guests
	Assigned            map[Label]int              // vmid by label
	Owned               map[int]Owned              // by vmid
	Guarded             map[int]Guarded            // by vmid; lasts until the guest is disowned
	ClusterGuards       *ClusterGuarded            // nil before the first acceptance by a release that records them
	Applied             map[int]Applied            // by vmid; lasts until the guest is disowned
	IneffectiveRestarts map[int]IneffectiveRestart // by vmid; lasts until the guest is disowned
	Attached            map[int]Attached           // by vmid; lasts until the guest is disowned
	Snapshots           map[int]Snapshots          // by vmid: taken by a schedule; lasts until the guest is disowned
	Repeated            map[int]bool               // by vmid: guests for which a call of an ended process may still act; lasts until it is over or the guest is disowned
	Flapping            map[object.Key]Flaps       // by object; that of a guest lasts until the guest is disowned
	Seen                map[object.Key]Seen        // by object; that of a guest lasts until the guest is disowned
	Writers             []Writer                   // the last eight marks of processes on this state directory, oldest first
	Orders              map[string]Order           // by key; compaction and Open remove orders that have been in a final state for Retain.Orders
	Overridden          map[int]Overridden         // by vmid; lasts until it is ended or the guest is disowned
	Introduced          map[Label]Introduced       // by label; that of a removed manifest lasts until its guest is disowned
	Policies            map[string]PolicyInForce   // of the repository, by name
	Left                map[int][]Former           // by vmid: places that the manifest of a guest left, while policies there still apply; lasts until the guest is disowned
	Rollouts            map[string]Rollout         // by name
	Staged              map[int]Staged             // by vmid: guests of rollouts; lasts until the rollout ends or the guest is disowned
	Placed              map[int]Placed             // by vmid: nodes that were chosen for new guests; lasts until the guest is disowned
	Freed               map[int]time.Time          // by vmid: when a guest was disowned in the last 24 hours
	Destroys            []time.Time                // times at which destroys ended in the last 24 hours that were sent, done or unknown, oldest first
}

// Label is the kind and the name of a guest in its manifest.
type Label struct{ Kind, Name string }

// ObjectID is the kind of an object that is no guest, and its id in Proxmox.
type ObjectID struct{ Kind, ID string }

// FileOn is a file on a node, by the id of its volume.
type FileOn struct{ Node, Volume string }

// File is a file that a node downloaded for the agent.
type File struct {
	Downloaded
	Time time.Time // of the record: a reading of the node that began before says nothing about the file
}

// OpenStep is a step without an outcome.
type OpenStep struct {
	Begun
	Seq        uint64    // of the Begun record
	Time       time.Time // when it began
	Dispatched int       // number of calls that Proxmox has certainly accepted; with 0, Proxmox may or may not have accepted a call
	UPID       string    // of the last of these calls; empty if Proxmox answered synchronously
	Refused    bool      // Proxmox refused a call of the step and may have written a part of it, which is to be taken back

	// Of the last Waited record.
	Waited   time.Duration // how long the step has been open for certain
	Uptime   time.Duration // of its node, as last read; 0 if it was not read
	UptimeAt time.Duration // how long the step had been open then
}

// Flaps is the level of the leaky bucket of an object at a time.
type Flaps struct {
	Level float64
	Time  time.Time // of the record
}

// Order is the latest state of an order.
type Order struct {
	Ordered
	Time time.Time // of the record
}

// destroyWindow is how long a destroy counts against the cluster's limit. freedWindow is how long a vmid counts as freed.
const (
	destroyWindow = 24 * time.Hour
	freedWindow   = 24 * time.Hour
)
