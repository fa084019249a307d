package proxmox

import (
	"context"
	"fmt"
	"slices"

	pve "github.com/luthermonson/go-proxmox"
)

// Storages lists the storages that the token may see, by name. Without Datastore.Audit or Datastore.AllocateSpace on any it is empty.
//
// Source: PVE API, GET /storage.
func (r *Reader) Storages(ctx context.Context) ([]string, error) {
	rows, err := get[[]pve.ClusterStorage](ctx, r, &exchange{route: routeOther, path: "/storage"})
	if err != nil {
		return nil, fmt.Errorf("list storages: %w", err)
	}
	names := make([]string, 0, len(rows))
	for _, row := range rows {
		names = append(names, row.Storage)
	}
	slices.Sort(names)
	return names, nil
}
