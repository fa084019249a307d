package proxmox

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gitops-agent/reconcile/cluster"

	pve "github.com/luthermonson/go-proxmox"
)

// Node is a member of the cluster.
type Node = cluster.Node

// Nodes lists the members by name. It needs no privilege.
//
// Source: PVE API, GET /nodes.
func (r *Reader) Nodes(ctx context.Context) ([]Node, error) {
	members, err := get[[]pve.NodeStatus](ctx, r, &exchange{route: routeNodes, path: "/nodes"})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	nodes := make([]Node, 0, len(members))
	for _, m := range members {
		if err := checkNode(m.Node); err != nil {
			return nil, fmt.Errorf("list nodes: %w", err)
		}
		nodes = append(nodes, Node{Name: m.Node, Online: m.Status == "online"})
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes, nil
}
