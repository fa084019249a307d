package proxmox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"

	pve "github.com/luthermonson/go-proxmox"
)

// Node is a member of the cluster.
type Node = cluster.Node

// Nodes lists the members by name. It needs no privilege.
//
// Source: PVE API, GET /nodes.
func (r *Reader) Nodes(ctx context.Context) ([]Node, error) {
	members, err := get[[]pve.NodeStatus](ctx, r, &wire.Exchange{Route: route.Nodes, Path: "/nodes"})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	nodes := make([]Node, 0, len(members))
	for _, m := range members {
		if err := route.CheckNode(m.Node); err != nil {
			return nil, fmt.Errorf("list nodes: %w", err)
		}
		nodes = append(nodes, Node{Name: m.Node, Online: m.Status == "online"})
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes, nil
}

// Uptime returns how long ago a node was booted. The node itself answers, from the clock of its kernel, which no step of its time changes; the list of
// resources shows a value that is up to ten seconds old. It needs Sys.Audit on the node.
//
// Source: PVE API, GET /nodes/{node}/status.
func (r *Reader) Uptime(ctx context.Context, node string) (time.Duration, error) {
	if err := route.CheckNode(node); err != nil {
		return 0, fmt.Errorf("read uptime: %w", err)
	}
	status, err := get[struct {
		Uptime reply.Scalar `json:"uptime"` // seconds
	}](ctx, r, &wire.Exchange{Route: route.NodeStatus, Path: "/nodes/" + node + "/status", Node: node})
	if err != nil {
		return 0, fmt.Errorf("read uptime of %s: %w", node, err)
	}
	seconds, err := strconv.ParseInt(string(status.Uptime), 10, 64)
	if err != nil || seconds < 0 || seconds > maxUptime {
		return 0, fmt.Errorf("read uptime of %s: got %q, want seconds", node, status.Uptime)
	}
	return time.Duration(seconds) * time.Second, nil
}

// maxUptime is a century in seconds.
const maxUptime = 100 * 365 * 24 * 3600
