package proxmox

import (
	"context"
	"fmt"

	"gitops-agent/internal/proxmox/encode"
	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
	"gitops-agent/reconcile/cluster"
)

// Files lists the files of one content on a storage as the node shows them. It needs Datastore.Audit or Datastore.AllocateSpace on the storage. The list
// does not show where a file is from, nor its checksum.
//
// Source: PVE API, GET /nodes/{node}/storage/{storage}/content; PVE::Storage check_volume_access.
func (r *Reader) Files(ctx context.Context, at cluster.FilePlace) (map[string]int64, error) {
	if err := encode.CheckFilePlace(at); err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	path := "/nodes/" + at.Node + "/storage/" + at.Storage + "/content?content=" + at.Content
	rows, err := get[[]struct {
		Volume string        `json:"volid"`
		Size   reply.Integer `json:"size"`
	}](ctx, r, &wire.Exchange{Route: route.Content, Path: path, Node: at.Node})
	if err != nil {
		return nil, fmt.Errorf("list files in %s on %s: %w", at.Storage, at.Node, err)
	}
	files := make(map[string]int64, len(rows))
	for _, row := range rows {
		files[row.Volume] = int64(row.Size)
	}
	return files, nil
}
