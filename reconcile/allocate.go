package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/plan"
)

// allocate assigns a free vmid of the range to each guest that has none, and journals it before it is used. A guest that may exist
// already gets none. Proxmox reserves nothing, so the vmid may still be lost to somebody else; the create then fails and nothing is overwritten.
func allocate(ctx context.Context, reader cluster.Reader, j *journal.Journal, span manifest.Range, guests []guest.Desired, inventory cluster.Inventory) error {
	state := j.State()
	taken := make(map[int]bool)
	for _, row := range inventory.Rows {
		taken[row.VMID] = true
	}
	for _, vmid := range state.Assigned {
		taken[vmid] = true
	}
	for vmid := range state.Owned {
		taken[vmid] = true
	}
	for vmid := range state.Freed {
		taken[vmid] = true // calls, backups and firewall rules of the guest that had it may be about
	}
	for _, d := range guests {
		taken[d.VMID] = true
	}
	next := span.From
	for _, d := range guests {
		if d.VMID != 0 || len(plan.Namesakes(&d, guests, state.Owned, inventory)) > 0 {
			continue
		}
		vmid, err := firstFree(ctx, reader, span, next, taken)
		if err != nil {
			return fmt.Errorf("assign a vmid to %s: %w%s", d.Label(), err, atRest(state, span))
		}
		taken[vmid], next = true, vmid+1
		if err := j.Append(ctx, journal.Assigned{Kind: string(d.Kind), Name: d.Name, VMID: vmid}); err != nil {
			return fmt.Errorf("write journal: %w", err)
		}
	}
	return nil
}

func firstFree(ctx context.Context, reader cluster.Reader, span manifest.Range, from int, taken map[int]bool) (int, error) {
	for vmid := from; vmid <= span.To; vmid++ {
		if taken[vmid] {
			continue
		}
		exists, err := reader.Exists(ctx, vmid)
		if err != nil {
			return 0, err
		}
		if !exists {
			return vmid, nil
		}
		taken[vmid] = true
	}
	return 0, fmt.Errorf("the Cluster's vmid range %d to %d is used up", span.From, span.To)
}

// atRest says which vmids of the range are free and not handed out again yet, "" where there are none.
func atRest(state journal.State, span manifest.Range) string {
	var vmids []string
	for _, vmid := range slices.Sorted(maps.Keys(state.Freed)) {
		if _, owned := state.Owned[vmid]; !owned && vmid >= span.From && vmid <= span.To {
			vmids = append(vmids, strconv.Itoa(vmid))
		}
	}
	if len(vmids) == 0 {
		return ""
	}
	return "; not handed out for a day after their guests went: " + strings.Join(vmids, ", ")
}
