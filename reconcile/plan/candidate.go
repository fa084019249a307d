package plan

import (
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// Candidate is an existing guest that a manifest without a vmid may mean.
type Candidate struct {
	VMID   int
	Name   string // "" if Proxmox does not report it now
	Marker string // "" if the guest is owned
}

// Candidates returns the guests that a manifest without a vmid may mean, sorted by vmid: the guests that are owned under its label, and the
// guests without a record that have its name and any marker, as after a loss of the state directory. A guest whose name Proxmox does not
// report may be meant too. Creating a new guest could create the same guest twice. A name proves nothing, so the agent adopts no candidate.
func Candidates(d *guest.Desired, guests []guest.Desired, owned map[int]journal.Owned, inventory cluster.Inventory) []Candidate {
	var found []Candidate
	for vmid, o := range owned {
		if o.Name == d.Name && o.Kind == string(d.Kind) {
			found = append(found, Candidate{VMID: vmid, Name: o.Name})
		}
	}
	for _, row := range inventory.Rows {
		if row.Kind != d.Kind || row.Name != d.Name && row.Name != "" {
			continue
		}
		if _, ours := owned[row.VMID]; ours {
			continue
		}
		if markers := guest.MarkerTags(guest.Tags(row.Tags)); len(markers) > 0 {
			found = append(found, Candidate{VMID: row.VMID, Name: row.Name, Marker: markers[0]})
		}
	}
	found = slices.DeleteFunc(found, func(n Candidate) bool {
		return slices.ContainsFunc(guests, func(other guest.Desired) bool { return other.VMID == n.VMID })
	})
	slices.SortFunc(found, func(a, b Candidate) int { return a.VMID - b.VMID })
	return found
}

// candidatesCondition lists the guests that prevent a create, and explains how the manifest can name the right guest.
func candidatesCondition(found []Candidate) Condition {
	var words []string
	for _, n := range found {
		switch {
		case n.Marker == "":
			words = append(words, fmt.Sprintf("%d is owned under this name", n.VMID))
		case n.Name == "":
			words = append(words, fmt.Sprintf("%d has the marker %s, and Proxmox does not report its name", n.VMID, n.Marker))
		default:
			words = append(words, fmt.Sprintf("%d has this name and the marker %s", n.VMID, n.Marker))
		}
	}
	c := Condition{Type: Blocked, Reason: ReasonMayExist, Message: "the guest may exist already, and is not created a second time: " + strings.Join(words, "; ")}
	if first := found[0]; first.Marker != "" {
		c.Hint = fmt.Sprintf("if the manifest means guest %d, and no other agent manages that guest: remove its tag %s, and set spec.vmid: %d and spec.adopt: ifUnmanaged; "+
			"if not, set spec.vmid to a free vmid", first.VMID, first.Marker, first.VMID)
	} else {
		c.Hint = fmt.Sprintf("set spec.vmid to the vmid of the guest that is meant, such as %d, or to a free vmid", first.VMID)
	}
	return c
}
