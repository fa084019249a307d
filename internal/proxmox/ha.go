package proxmox

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"

	pve "github.com/luthermonson/go-proxmox"
)

// HA returns the resources of the HA manager by vmid. It needs Sys.Audit on /.
//
// Source: PVE API, GET /cluster/ha/resources.
func (r *Reader) HA(ctx context.Context) (map[int]guest.HA, error) {
	rows, err := get[[]pve.HAResource](ctx, r, &wire.Exchange{Route: route.HAResources, Path: "/cluster/ha/resources"})
	if err != nil {
		return nil, fmt.Errorf("list HA resources: %w", err)
	}
	resources := make(map[int]guest.HA, len(rows))
	for _, row := range rows {
		kind, id, _ := strings.Cut(row.SID, ":")
		vmid, err := strconv.Atoi(id)
		if err != nil || kind != "vm" && kind != "ct" {
			return nil, fmt.Errorf("list HA resources: %q is not a resource of a guest", row.SID)
		}
		resources[vmid] = resourceOf(row)
	}
	return resources, nil
}

// HAMaster returns the node that the HA manager works on, and when its last round ended. It needs Sys.Audit on /.
//
// Source: PVE API, GET /cluster/ha/status/manager_status; pve-ha-manager 5.2.0, PVE/HA/Manager.pm, flush_master_status at the end of each round.
func (r *Reader) HAMaster(ctx context.Context) (cluster.HAMaster, error) {
	status, err := get[struct {
		Manager struct {
			Node      string       `json:"master_node"`
			Timestamp reply.Scalar `json:"timestamp"` // seconds since 1970
		} `json:"manager_status"`
	}](ctx, r, &wire.Exchange{Route: route.HAManager, Path: "/cluster/ha/status/manager_status"})
	if err != nil {
		return cluster.HAMaster{}, fmt.Errorf("read the state of the HA manager: %w", err)
	}
	master := cluster.HAMaster{Node: status.Manager.Node}
	if text := string(status.Manager.Timestamp); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds < 0 {
			return cluster.HAMaster{}, fmt.Errorf("read the state of the HA manager: got the time %q, want seconds", text)
		}
		master.RoundAt = time.Unix(seconds, 0).UTC()
	}
	return master, nil
}

// HABalances reports whether the HA manager moves running guests between nodes to balance these. It needs Sys.Audit on /, without which Proxmox shows no such option.
//
// Source: PVE API, GET /cluster/options; pve-ha-manager 5.2.0, PVE/HA/Manager.pm, load_balance.
func (r *Reader) HABalances(ctx context.Context) (bool, error) {
	options, err := get[struct {
		Scheduler struct {
			Mode      string       `json:"ha"`
			Rebalance reply.Scalar `json:"ha-auto-rebalance"`
		} `json:"crs"`
	}](ctx, r, &wire.Exchange{Route: route.Other, Path: "/cluster/options"})
	if err != nil {
		return false, fmt.Errorf("read datacenter options: %w", err)
	}
	scheduler := options.Scheduler
	return scheduler.Rebalance == "1" && (scheduler.Mode == "static" || scheduler.Mode == "dynamic"), nil
}

// resourceOf returns a resource with Proxmox's defaults for unset values: started, one restart, one relocation, with failback.
func resourceOf(row pve.HAResource) guest.HA {
	ha := guest.HA{State: "started", MaxRestart: 1, MaxRelocate: 1, Group: row.Group}
	if row.State != nil && *row.State != "" && *row.State != "enabled" {
		ha.State = *row.State
	}
	if row.MaxRestart != nil {
		ha.MaxRestart = *row.MaxRestart
	}
	if row.MaxRelocate != nil {
		ha.MaxRelocate = *row.MaxRelocate
	}
	ha.NoFailback = row.Failback != nil && !bool(*row.Failback)
	return ha
}
