package plan

import (
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/order"
	"gitops-agent/reconcile/secret"
)

// Desired is everything that the manifests ask for, and the records of the guests that the agent owns.
type Desired struct {
	Cluster    string // name of the cluster, part of every marker and step digest
	Revision   string // "main@sha1:<40 hex>"; empty for a working copy
	Guests     []guest.Desired
	Others     []guest.Desired // guests that manifests name and that are not planned; guests of Guests may be among them
	Images     Images
	Objects    Objects
	Owned      map[int]journal.Owned         // by vmid
	Remembered map[int]journal.Guarded       // guards in force, by vmid
	Attached   map[int]journal.Attached      // volumes that the slots of guests held last, by vmid
	Applied    map[int]journal.Applied       // secrets that were sent to guests last, by vmid
	Secrets    map[secret.Place]secret.State // present state of the secrets, and of other values that are used at creation only; one that is missing here was not read
	VMIDs      manifest.Range                // the Cluster's range of vmids
	Weakenings []guard.Weakening             // held changes of guards in force
	Orders     map[int][]order.Open          // one-shot operations that were accepted and have not begun, by vmid, the oldest first; those of schedules after them
	Snapshots  map[int]journal.Snapshots     // taken by schedules, by vmid
	Unplaced   map[string]Unplaced           // guests for which no node was chosen although their manifests leave it to the agent, by label
	Lifted     map[int]bool                  // guests from which open steps lifted the protection, which counts as set until these steps end, by vmid
	NoRevision bool                          // no revision is in force, so it is unknown which guests are wanted

	Unread error // why the journal may have records that are missing here; nil if it has none

	gone    guard.GoneGuests // of Remembered
	derived *derived         // while it is planned

	ClusterContext *ClusterContext // the other guests, if a guest is planned alone; else nil
}

// Unplaced is why no node was chosen for a guest.
type Unplaced struct {
	Why  string // for people
	Fits bool   // a node would be chosen if the agent could work on the guest
}

// ClusterContext contains the other guests of the cluster for a guest that is planned alone.
type ClusterContext struct {
	Guests map[int]guest.Observed // every guest that was read, by vmid; nil if they were not kept
}
