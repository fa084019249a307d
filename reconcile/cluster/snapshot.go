package cluster

import (
	"gitops-agent/reconcile/guest"
)

// Snapshot is everything that was seen.
type Snapshot struct {
	Inventory Inventory
	Guests    map[int]guest.Observed // read in full, by vmid
	Absent    map[int]Absence        // asked for and not seen
	Trouble   map[int]string         // why the newest look at a guest failed; what Guests holds of it is older
}

// Absence says what is known of a guest that the inventory does not list. Absence in a list is not absence: only the
// cluster's own answer for the vmid makes it Gone.
type Absence string

// The kinds of absence.
const (
	Gone    Absence = "gone"    // the vmid is free
	Hidden  Absence = "hidden"  // the vmid is taken by a guest that the token may not see
	Unknown Absence = "unknown" // nobody could be asked
)

// PartlyCreated reports whether another call is still making the guest, or left it half-made. Its configuration says nothing yet.
func PartlyCreated(live guest.Observed) bool { return live.Lock == "create" || live.Lock == "clone" }
