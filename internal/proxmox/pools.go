package proxmox

import (
	"context"
	"fmt"

	pve "github.com/luthermonson/go-proxmox"
)

// Pools lists the pools that the token may see: those on which it has Pool.Audit.
//
// Source: PVE API, GET /pools.
func (r *Reader) Pools(ctx context.Context) ([]string, error) {
	rows, err := get[[]pve.Pool](ctx, r, &exchange{route: routePools, path: "/pools"})
	if err != nil {
		return nil, fmt.Errorf("list pools: %w", err)
	}
	names := make([]string, 0, len(rows))
	for _, row := range rows {
		names = append(names, row.PoolID)
	}
	return names, nil
}
