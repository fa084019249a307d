package proxmox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gitops-agent/reconcile"
	"gitops-agent/reconcile/guest"
)

// Inventory lists the guests that the token may see, sorted by vmid, in one call. Node, lock, tags, pool and HA state are
// current; name, run state and template lag by up to ten seconds, and are missing for a guest just made.
//
// Source: PVE API, GET /cluster/resources.
func (r *Reader) Inventory(ctx context.Context) (reconcile.Inventory, error) {
	readAt := time.Now()
	resources, err := get[[]resource](ctx, r, &exchange{route: routeResources, path: "/cluster/resources?type=vm"})
	if err != nil {
		return reconcile.Inventory{}, fmt.Errorf("list guests: %w", err)
	}
	rows := make([]reconcile.Row, 0, len(resources))
	for _, found := range resources {
		row, ok := found.row()
		if !ok {
			continue
		}
		if err := addressOf(row).check(); err != nil {
			return reconcile.Inventory{}, fmt.Errorf("list guests: %w", err)
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b reconcile.Row) int { return cmp.Compare(a.VMID, b.VMID) })
	return reconcile.Inventory{Rows: rows, ReadAt: readAt, Version: r.release.of(ctx, r, readAt)}, nil
}

// resource is the part of a row of /cluster/resources that the agent uses.
type resource struct {
	Type     string  `json:"type"`
	VMID     integer `json:"vmid"`
	Node     string  `json:"node"`
	Name     scalar  `json:"name"`
	Status   string  `json:"status"`
	Template scalar  `json:"template"`
	Lock     scalar  `json:"lock"`
	Tags     scalar  `json:"tags"`
	Pool     scalar  `json:"pool"`
	HAState  scalar  `json:"hastate"`
	MaxMem   number  `json:"maxmem"`
	MaxDisk  number  `json:"maxdisk"`
	MaxCPU   number  `json:"maxcpu"`
}

// row returns the resource as a guest; false where it is none.
func (r resource) row() (reconcile.Row, bool) {
	var kind guest.Kind
	switch r.Type {
	case "qemu":
		kind = guest.VirtualMachine
	case "lxc":
		kind = guest.Container
	default:
		return reconcile.Row{}, false
	}
	return reconcile.Row{
		Kind:     kind,
		VMID:     int(r.VMID),
		Node:     r.Node,
		Name:     string(r.Name),
		Status:   statusOf(r.Status, ""),
		Template: r.Template.flag(),
		Lock:     string(r.Lock),
		Tags:     string(r.Tags),
		Pool:     string(r.Pool),
		HAState:  string(r.HAState),
		MaxMem:   int64(r.MaxMem),
		MaxDisk:  int64(r.MaxDisk),
		MaxCPU:   float64(r.MaxCPU),
	}, true
}

func addressOf(row reconcile.Row) address {
	return address{kind: row.Kind, node: row.Node, vmid: row.VMID}
}
