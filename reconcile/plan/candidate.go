package plan

import (
	"fmt"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
)

// Candidate is an existing guest that a manifest without a vmid may mean.
type Candidate struct {
	VMID    int
	Name    string // "" if Proxmox does not report it now
	Marker  string // "" if the guest is owned, or has none
	Renamed bool   // the guest has another name, and no record explains its marker
	Owned   bool   // a record of this agent names the guest
}

// Candidates returns the guests that a manifest without a vmid may mean, sorted by vmid: the guests that are owned under its label, and the
// guests of its kind without a record that have any marker, as after a loss of the state directory, and its name or a vmid of the Cluster's
// range. The agent assigns vmids of the range only, and the guest or the manifest may have been renamed. A guest whose name Proxmox does not
// report may be meant too. Without a marker, a guest of the range is meant if it has the name, or if neither name nor tags are reported. Creating a new guest could create the same guest twice. A name proves nothing, so the agent adopts no candidate.
func Candidates(d *guest.Desired, want Desired, inventory cluster.Inventory) []Candidate {
	var found []Candidate
	for vmid, o := range want.Owned {
		if o.Name == d.Name && o.Kind == string(d.Kind) {
			found = append(found, Candidate{VMID: vmid, Name: o.Name, Owned: true})
		}
	}
	for _, row := range inventory.Rows {
		if row.Kind != d.Kind {
			continue
		}
		if _, ours := want.Owned[row.VMID]; ours {
			continue
		}
		markers := guest.Markers(row.Tags)
		if len(markers) == 0 {
			if want.VMIDs.Has(row.VMID) && isNamesake(d, row) {
				found = append(found, Candidate{VMID: row.VMID, Name: row.Name})
			}
			continue
		}
		renamed := row.Name != d.NameInProxmox() && row.Name != d.Name && row.Name != ""
		if !renamed || want.VMIDs.Has(row.VMID) && want.unexplained(markers) {
			found = append(found, Candidate{VMID: row.VMID, Name: row.Name, Marker: markers[0], Renamed: renamed})
		}
	}
	found = slices.DeleteFunc(found, func(n Candidate) bool {
		return slices.ContainsFunc(want.Guests, func(other guest.Desired) bool { return other.VMID == n.VMID }) ||
			slices.ContainsFunc(want.Others, func(other guest.Desired) bool { return other.VMID == n.VMID })
	})
	slices.SortFunc(found, func(a, b Candidate) int { return a.VMID - b.VMID })
	return found
}

// isNamesake reports whether a guest without a marker may be the manifest's: its tags may have been edited after the loss of its record. Proxmox
// reports neither name nor tags of a guest on a node that is offline. A template is no namesake of a guest that is made from it.
func isNamesake(d *guest.Desired, row cluster.Row) bool {
	if row.Name == "" {
		return row.Tags == ""
	}
	return (row.Name == d.NameInProxmox() || row.Name == d.Name) && (!row.Template || d.Template)
}

// unexplained reports whether one of the markers is in no record. A guest whose markers are in the records of other guests is a copy of one of them.
func (want Desired) unexplained(markers []string) bool {
	return slices.ContainsFunc(markers, func(marker string) bool {
		for _, o := range want.Owned {
			if o.Tag == marker {
				return false
			}
		}
		return true
	})
}

// candidatesCondition lists the guests that prevent a create, and explains how the manifest can name the right guest.
func candidatesCondition(found []Candidate) Condition {
	var words []string
	for _, n := range found {
		switch {
		case n.Owned:
			words = append(words, fmt.Sprintf("%d is owned under this name", n.VMID))
		case n.Marker == "" && n.Name == "":
			words = append(words, fmt.Sprintf("%d has a vmid of the Cluster's range, and Proxmox reports neither its name nor its tags", n.VMID))
		case n.Marker == "":
			words = append(words, fmt.Sprintf("%d has this name, no marker, and a vmid of the Cluster's range", n.VMID))
		case n.Name == "":
			words = append(words, fmt.Sprintf("%d has the marker %s, and Proxmox does not report its name", n.VMID, n.Marker))
		case n.Renamed:
			words = append(words, fmt.Sprintf("%d (%s) has the marker %s, which no record explains, and a vmid of the Cluster's range", n.VMID, n.Name, n.Marker))
		default:
			words = append(words, fmt.Sprintf("%d has this name and the marker %s", n.VMID, n.Marker))
		}
	}
	c := Condition{Type: Blocked, Reason: reason.NotManaged, Message: "the guest may exist already, and is not created a second time: " + strings.Join(words, "; ")}
	switch first := found[0]; {
	case first.Renamed:
		c.Hint = reason.MeantRenamed.With(first.VMID, first.Marker)
	case first.Marker != "":
		c.Hint = reason.MeantMarked.With(first.VMID, first.Marker)
	case !first.Owned && first.Name == "":
		c.Hint = reason.MeantUnnamed.With(first.VMID)
	case !first.Owned:
		c.Hint = reason.MeantUnmarked.With(first.VMID)
	default:
		c.Hint = reason.MeantOwned.With(first.VMID)
	}
	return c
}
