package plan

import (
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// namesake is a guest that a manifest without a vmid may mean.
type Candidate struct {
	VMID   int
	Name   string // "" where Proxmox does not tell it now
	Marker string // "" where the guest is owned
}

// Namesakes returns the guests that a manifest without a vmid may mean, by vmid: what is owned under its label, and what bears its name and
// somebody's marker while nothing is remembered of it, as after a loss of the state directory. One that Proxmox tells no name of may be it
// too. To make another guest beside such a one could be to make it twice; names still prove nothing, so none is taken over for its name.
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

// namesakeCondition says which guests are in the way of making one, and how to tell the agent which it is.
func candidatesCondition(found []Candidate) Condition {
	var words []string
	for _, n := range found {
		switch {
		case n.Marker == "":
			words = append(words, fmt.Sprintf("%d is owned under this name", n.VMID))
		case n.Name == "":
			words = append(words, fmt.Sprintf("%d bears the marker %s, and Proxmox does not tell its name", n.VMID, n.Marker))
		default:
			words = append(words, fmt.Sprintf("%d bears this name and the marker %s", n.VMID, n.Marker))
		}
	}
	c := Condition{Type: Blocked, Reason: ReasonMayExist, Message: "it may exist already, and is not made a second time: " + strings.Join(words, "; ")}
	if first := found[0]; first.Marker != "" {
		c.Hint = fmt.Sprintf("if it is guest %d, and no other agent manages that one: take the tag %s off it, and set spec.vmid: %d and spec.adopt: ifUnmanaged; "+
			"if not, set spec.vmid to a free one", first.VMID, first.Marker, first.VMID)
	} else {
		c.Hint = fmt.Sprintf("set spec.vmid to the one that is meant, such as %d, or to a free one", first.VMID)
	}
	return c
}
