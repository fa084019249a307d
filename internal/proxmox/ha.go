package proxmox

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"gitops-agent/reconcile/guest"
)

// HA lists the resources of the HA manager by vmid. It needs Sys.Audit on /.
//
// Source: PVE API, GET /cluster/ha/resources.
func (r *Reader) HA(ctx context.Context) (map[int]guest.HA, error) {
	rows, err := get[[]haRow](ctx, r, &exchange{route: routeHAResources, path: "/cluster/ha/resources"})
	if err != nil {
		return nil, fmt.Errorf("list HA resources: %w", err)
	}
	resources := make(map[int]guest.HA, len(rows))
	for _, row := range rows {
		kind, id, _ := strings.Cut(row.SID, ":")
		vmid, err := strconv.Atoi(id)
		if err != nil || kind != "vm" && kind != "ct" {
			return nil, fmt.Errorf("list HA resources: %q is no resource", row.SID)
		}
		resources[vmid] = row.resource()
	}
	return resources, nil
}

// haRow is one resource. What is not set has Proxmox's default: started, one restart, one relocation.
type haRow struct {
	SID         string   `json:"sid"`
	State       string   `json:"state"`
	MaxRestart  *integer `json:"max_restart"`
	MaxRelocate *integer `json:"max_relocate"`
	Group       string   `json:"group"`
}

func (h haRow) resource() guest.HA {
	ha := guest.HA{State: h.State, MaxRestart: 1, MaxRelocate: 1, Group: h.Group}
	if ha.State == "" || ha.State == "enabled" {
		ha.State = "started"
	}
	if h.MaxRestart != nil {
		ha.MaxRestart = int(*h.MaxRestart)
	}
	if h.MaxRelocate != nil {
		ha.MaxRelocate = int(*h.MaxRelocate)
	}
	return ha
}
