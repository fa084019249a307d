package cluster

import (
	"gitops-agent/reconcile/guest"
)

// Snapshot is the newest reading of the inventory and of every guest.
type Snapshot struct {
	Inventory  Inventory
	Guests     map[int]guest.Observed     // read completely, by vmid
	Absent     map[int]Absence            // by vmid: guests that the agent looked for and did not find
	ReadErrors map[int]string             // by vmid: why the newest read of a guest failed; the reading in Guests is older
	Datacenter Datacenter                 // of its firewall; the zero value if no manifest describes a firewall
	Leftover   map[int]guest.FirewallSeen // by vmid: what the firewalls of free vmids contain; read only before a guest is created
	Files      map[FilePlace]Files        // where Images have to be; nil if there are none
	Objects    map[guest.Kind]Objects     // of the kinds that manifests or records name
	HAStands   string                     // why the HA manager does not act, as far as a guest waits for it; "" if it acts, or if none waits
	HAUnread   string                     // why it is not known whether the HA manager acts, "" if it is
	Began      bool                       // an agent has just begun to read the cluster, and no list of guests has failed
}

// UnderHA reports whether the HA manager may start and move a guest: it has an entry there, which does not say that it leaves the guest alone.
func (s Snapshot) UnderHA(vmid int) bool {
	row, _ := s.Inventory.Row(vmid)
	live := s.Guests[vmid]
	if live.Resource != nil {
		return live.Resource.Manages()
	}
	return (live.HA || row.HAState != "") && guest.HA{State: row.HAState}.Manages()
}

// NotReadYet reports whether the agent has just started, and has neither read a guest nor failed to.
func (s Snapshot) NotReadYet(vmid int) bool {
	_, isRead := s.Guests[vmid]
	_, isAbsent := s.Absent[vmid]
	_, failed := s.ReadErrors[vmid]
	return s.Began && !isRead && !isAbsent && !failed
}

// Absence states what is known about a guest that the inventory does not list. A guest that is missing in a list may exist: it is
// Gone only after the cluster's own answer for the vmid.
type Absence string

// The kinds of absence.
const (
	Gone    Absence = "gone"    // the vmid is free
	Hidden  Absence = "hidden"  // the vmid is taken by a guest that the token may not see
	Unknown Absence = "unknown" // the cluster did not answer
)

// PartlyCreated reports whether a call is still creating the guest, or left it partly created. Its configuration is not valid yet.
func PartlyCreated(live guest.Observed) bool { return live.Lock == "create" || live.Lock == "clone" }
