package report

import (
	"fmt"
	"time"
)

// Component is a part of the agent's work that waits for a reply. It is a label of metrics.
type Component string

// The components. All but the last one wait for Proxmox.
const (
	ComponentList       Component = "list"       // the list of guests
	ComponentGuests     Component = "guests"     // the guests of a node
	ComponentHA         Component = "ha"         // the resources of the HA manager
	ComponentFiles      Component = "files"      // the files of Images
	ComponentDatacenter Component = "datacenter" // the datacenter's firewall
	ComponentObjects    Component = "objects"    // the objects of kinds that are no guests
	ComponentReady      Component = "ready"      // whether the cluster has quorum
	ComponentClaim      Component = "claim"      // the claim of the cluster, before work begins
	ComponentVMIDs      Component = "vmids"      // free vmids for new guests
	ComponentBoots      Component = "boots"      // what is in effect in running guests
	ComponentLocks      Component = "locks"      // the tasks that hold locks of migrations
	ComponentSnapshots  Component = "snapshots"  // those that schedules have left
	ComponentRevision   Component = "revision"   // the floor, from which the revision in force follows after the start
	ComponentSource     Component = "source"     // the remotes of git
)

// Components lists every component, for metrics that start at zero.
func Components() []Component {
	return []Component{ComponentList, ComponentGuests, ComponentHA, ComponentFiles, ComponentDatacenter, ComponentObjects, ComponentReady, ComponentClaim, ComponentVMIDs, ComponentBoots, ComponentLocks, ComponentSnapshots, ComponentRevision, ComponentSource}
}

// Late is a component that has waited for a reply for too long. The agent goes on with what it knows.
type Late struct {
	Component Component `json:"component"`
	Node      string    `json:"node,omitempty"`   // of guests
	Remote    string    `json:"remote,omitempty"` // of source: the remotes that have not served it, without credentials
	Calls     int       `json:"calls"`            // without a reply
	Since     time.Time `json:"since"`            // when the oldest of them began
}

// Text describes what is late, for people: "proxmox has not answered the list of guests for 31 s".
func (l Late) Text(now time.Time) string {
	waited := int(now.Sub(l.Since) / time.Second)
	if l.Component == ComponentSource {
		return fmt.Sprintf("no remote has served the branch for %d s: %s", waited, l.Remote)
	}
	what := map[Component]string{
		ComponentList: "the list of guests", ComponentHA: "the resources of the HA manager", ComponentFiles: "the files of images", ComponentReady: "whether it has quorum",
		ComponentDatacenter: "the firewall of the datacenter", ComponentObjects: "pools, jobs, rules and other objects",
		ComponentClaim: "the claim of the cluster", ComponentVMIDs: "which vmids are free", ComponentBoots: "what is in effect in running guests", ComponentLocks: "which tasks hold locks", ComponentSnapshots: "the snapshots of guests", ComponentRevision: "the floor of accepted revisions",
	}[l.Component]
	if l.Component == ComponentGuests {
		what = fmt.Sprintf("%d readings of guests", l.Calls)
		if l.Calls == 1 {
			what = "the reading of a guest"
		}
		if l.Node != "" {
			what += " on " + l.Node
		}
	}
	return fmt.Sprintf("proxmox has not answered %s for %d s", what, waited)
}
