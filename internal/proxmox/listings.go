package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/url"
)

// Bridges lists the bridges and the virtual networks of a node that the token may see: those on which it has SDN.Audit or SDN.Use.
//
// Source: PVE API, GET /nodes/{node}/network.
func (r *Reader) Bridges(ctx context.Context, node string) ([]string, error) {
	names, err := r.names(ctx, node, "/network?type=any_bridge", func(row listed) string { return row.Interface })
	if err != nil {
		return nil, fmt.Errorf("list bridges of %s: %w", node, err)
	}
	return names, nil
}

// Volumes lists the volumes of one content type ("iso") that a node finds on a storage and the token may see. It needs Datastore.Audit or
// Datastore.AllocateSpace there; disks and backups also need a privilege on the guest that they belong to.
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

// CPUModels lists the processors that a virtual machine can have. Those of the cluster's own, "custom-…", need Sys.Audit on /nodes. The member
// that answers speaks of its own release, whatever node is named.
//
// Source: PVE API, GET /nodes/{node}/capabilities/qemu/cpu.
func (r *Reader) CPUModels(ctx context.Context, node string) ([]string, error) {
	names, err := r.names(ctx, node, "/capabilities/qemu/cpu", func(row listed) string { return row.Name })
	if err != nil {
		return nil, fmt.Errorf("list cpu models of %s: %w", node, err)
	}
	return names, nil
}

// listed is what a row of such a list is called.
type listed struct {
	Interface string `json:"iface"`
	Volume    string `json:"volid"`
	Name      string `json:"name"`
}

// names reads a list of a node. A row without a name is an error: it would pass for something that is not there.
func (r *Reader) names(ctx context.Context, node, path string, of func(listed) string) ([]string, error) {
	if err := checkNode(node); err != nil {
		return nil, err
	}
	rows, err := get[[]listed](ctx, r, &exchange{route: routeOther, path: "/nodes/" + node + path, node: node})
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
