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
type namesake struct {
	vmid   int
	name   string // "" where Proxmox does not tell it now
	marker string // "" where the guest is owned
}

// Namesakes returns the guests that a manifest without a vmid may mean, by vmid: what is owned under its label, and what bears its name and
// somebody's marker while nothing is remembered of it, as after a loss of the state directory. One that Proxmox tells no name of may be it
// too. To make another guest beside such a one could be to make it twice; names still prove nothing, so none is taken over for its name.
func Namesakes(d *guest.Desired, guests []guest.Desired, owned map[int]journal.Owned, inventory cluster.Inventory) []namesake {
	var found []namesake
	for vmid, o := range owned {
		if o.Name == d.Name && o.Kind == string(d.Kind) {
			found = append(found, namesake{vmid: vmid, name: o.Name})
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
			found = append(found, namesake{vmid: row.VMID, name: row.Name, marker: markers[0]})
		}
	}
	found = slices.DeleteFunc(found, func(n namesake) bool {
		return slices.ContainsFunc(guests, func(other guest.Desired) bool { return other.VMID == n.vmid })
	})
	slices.SortFunc(found, func(a, b namesake) int { return a.vmid - b.vmid })
	return found
}

// namesakeCondition says which guests are in the way of making one, and how to tell the agent which it is.
func namesakeCondition(found []namesake) Condition {
	var words []string
	for _, n := range found {
		switch {
		case n.marker == "":
			words = append(words, fmt.Sprintf("%d is owned under this name", n.vmid))
		case n.name == "":
			words = append(words, fmt.Sprintf("%d bears the marker %s, and Proxmox does not tell its name", n.vmid, n.marker))
		default:
			words = append(words, fmt.Sprintf("%d bears this name and the marker %s", n.vmid, n.marker))
		}
	}
	c := Condition{Type: Blocked, Reason: ReasonMayExist, Message: "it may exist already, and is not made a second time: " + strings.Join(words, "; ")}
	if first := found[0]; first.marker != "" {
		c.Hint = fmt.Sprintf("if it is guest %d, and no other agent manages that one: take the tag %s off it, and set spec.vmid: %d and spec.adopt: ifUnmanaged; "+
			"if not, set spec.vmid to a free one", first.vmid, first.marker, first.vmid)
	} else {
		c.Hint = fmt.Sprintf("set spec.vmid to the one that is meant, such as %d, or to a free one", first.vmid)
	}
	return c
}
