package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// MarkerCopies returns the guests that have the marker of an owned guest, by the vmid of the owned guest. Such a guest is a clone that was made by
// hand, since a clone has every tag of its template. The agent does not change it, and its owner may want to know.
func MarkerCopies(inventory cluster.Inventory, owned map[int]journal.Owned) map[int][]cluster.Row {
	var copies map[int][]cluster.Row
	originals := make(map[string]int, len(owned))
	for vmid, o := range owned {
		originals[o.Tag] = vmid
	}
	for _, row := range inventory.Rows {
		if o, ours := owned[row.VMID]; ours && row.Tags == o.Tag || row.Tags == "" {
			continue // most guests: skips splitting their tags
		}
		for _, tag := range guest.Markers(row.Tags) {
			if vmid, known := originals[tag]; known && vmid != row.VMID {
				if copies == nil {
					copies = make(map[int][]cluster.Row)
				}
				copies[vmid] = append(copies[vmid], row)
			}
		}
	}
	return copies
}

// MarkerCopiesCondition returns the condition that lists the guests with the marker of this guest.
func MarkerCopiesCondition(copies []cluster.Row, marker string) Condition {
	var names []string
	for _, row := range copies {
		names = append(names, strings.TrimSpace(strconv.Itoa(row.VMID)+" "+row.Name))
	}
	slices.Sort(names)
	return Condition{
		Type: Warned, Reason: reason.Copied, Message: fmt.Sprintf("its marker %s is also on %s, which was cloned from it", marker, strings.Join(names, ", ")),
		Hint: reason.RemoveCopiedTag.Text,
	}
}
