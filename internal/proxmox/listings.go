package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// Bridges lists the bridges and the virtual networks of a node on which the token has SDN.Audit or SDN.Use.
//
// Source: PVE API, GET /nodes/{node}/network.
func (r *Reader) Bridges(ctx context.Context, node string) ([]string, error) {
	names, err := r.names(ctx, node, "/network?type=any_bridge", func(row listed) string { return row.Interface })
	if err != nil {
		return nil, fmt.Errorf("list bridges of %s: %w", node, err)
	}
	return names, nil
}

// Volumes lists the volumes of one content type ("iso") on a storage of a node, as far as the token may see them. It needs Datastore.Audit or
// Datastore.AllocateSpace on the storage. For disks and backups the token also needs a privilege on the guest that they belong to.
//
// Source: PVE API, GET /nodes/{node}/storage/{storage}/content; PVE::Storage check_volume_access.
func (r *Reader) Volumes(ctx context.Context, node, storage, content string) ([]string, error) {
	path := "/storage/" + url.PathEscape(storage) + "/content?content=" + url.QueryEscape(content)
	names, err := r.names(ctx, node, path, func(row listed) string { return row.Volume })
	if err != nil {
		return nil, fmt.Errorf("list %s volumes of %s on %s: %w", content, storage, node, err)
	}
	return names, nil
}

// CPUModels lists the processor models that a virtual machine can have. The cluster's own models, "custom-…", need Sys.Audit on /nodes. The
// endpoint that answers lists the models of its own release, not those of the named node.
//
// Source: PVE API, GET /nodes/{node}/capabilities/qemu/cpu.
func (r *Reader) CPUModels(ctx context.Context, node string) ([]string, error) {
	names, err := r.names(ctx, node, "/capabilities/qemu/cpu", func(row listed) string { return row.Name })
	if err != nil {
		return nil, fmt.Errorf("list cpu models of %s: %w", node, err)
	}
	return names, nil
}

// FirewallNames lists what rules of firewalls can name in the whole datacenter: the macros, or the ids of the objects of a kind, in the case in which Proxmox has them. Aliases and
// sets need Sys.Audit on /; macros and groups are open to every token.
//
// Source: PVE API, GET /cluster/firewall/macros, /aliases, /ipset and /groups.
func (r *Reader) FirewallNames(ctx context.Context, of guest.Kind) ([]string, error) {
	list, name := "macros", func(row listed) string { return row.Macro }
	switch of { //nolint:exhaustive // the kinds of the datacenter's firewall
	case kind.FirewallAliases:
		list, name = "aliases", func(row listed) string { return row.Name }
	case kind.FirewallSets:
		list, name = "ipset", func(row listed) string { return row.Name }
	case kind.FirewallGroups:
		list, name = "groups", func(row listed) string { return row.Group }
	}
	names, err := r.namesAt(ctx, &wire.Exchange{Route: route.Other, Path: "/cluster/firewall/" + list}, name)
	if err != nil {
		return nil, fmt.Errorf("list %s of the firewall: %w", list, err)
	}
	return names, nil
}

// listed is the name in a row of a list. The library's types for these lists are not used: one property with an unexpected JSON type fails the
// whole list, as 0 and 1 do in the field for custom processor models, which is a bool.
type listed struct {
	Interface string `json:"iface"`
	Volume    string `json:"volid"`
	Name      string `json:"name"`
	Macro     string `json:"macro"`
	Group     string `json:"group"`
}

// names reads the names in a list of a node.
func (r *Reader) names(ctx context.Context, node, path string, of func(listed) string) ([]string, error) {
	if err := route.CheckNode(node); err != nil {
		return nil, err
	}
	return r.namesAt(ctx, &wire.Exchange{Route: route.Other, Path: "/nodes/" + node + path, Node: node}, of)
}

// namesAt reads the names in a list. A row without a name is an error: the list would lack something that exists.
func (r *Reader) namesAt(ctx context.Context, x *wire.Exchange, of func(listed) string) ([]string, error) {
	rows, err := get[[]listed](ctx, r, x)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(rows))
	for _, row := range rows {
		name := of(row)
		if name == "" {
			return nil, errNoName
		}
		names = append(names, name)
	}
	return names, nil
}

var errNoName = errors.New("decode reply: a row has no name")
