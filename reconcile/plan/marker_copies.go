package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
)

// CopiesByOriginal returns the guests that bear the marker of an owned one, by the owned one's vmid: clones that somebody made by hand, which carry
// every tag of what they were made from. They are nobody's business, and their owner may want to know.
func MarkerCopies(inventory cluster.Inventory, owned map[int]journal.Owned) map[int][]cluster.Row {
	var copies map[int][]cluster.Row
	originals := make(map[string]int, len(owned))
	for vmid, o := range owned {
		originals[o.Tag] = vmid
	}
	for _, row := range inventory.Rows {
		if o, ours := owned[row.VMID]; ours && row.Tags == o.Tag || row.Tags == "" {
			continue // most guests, without a look at each of their tags
		}
		for _, tag := range guest.MarkerTags(guest.Tags(row.Tags)) {
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

// CopiedCondition tells of the guests that bear the marker of this one.
func MarkerCopiesCondition(copies []cluster.Row, marker string) Condition {
	var names []string
	for _, row := range copies {
		names = append(names, strings.TrimSpace(strconv.Itoa(row.VMID)+" "+row.Name))
	}
	slices.Sort(names)
	return Condition{
		Type: Warned, Reason: ReasonCopied, Message: fmt.Sprintf("its marker %s is also on %s, which was cloned from it", marker, strings.Join(names, ", ")),
		Hint: "the copy is left alone; take the tag off it before a manifest adopts it",
	}
}
