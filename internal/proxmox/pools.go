package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	pve "github.com/luthermonson/go-proxmox"

	"gitops-agent/internal/proxmox/encode"
	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
)

// Pools lists the pools on which the token has Pool.Audit. Proxmox hides the other pools.
//
// Source: PVE API, GET /pools.
func (r *Reader) Pools(ctx context.Context) ([]string, error) {
	pools, err := get[[]pve.Pool](ctx, r, &wire.Exchange{Route: route.Pools, Path: "/pools"})
	if err != nil {
		return nil, fmt.Errorf("list pools: %w", err)
	}
	names := make([]string, 0, len(pools))
	for _, pool := range pools {
		names = append(names, pool.PoolID)
	}
	return names, nil
}

// PoolComment reads the comment of a pool. It returns false if there is no such pool.
//
// The library's type is not used: the reply lists the members of the pool, and one member that does not fit the type would make the
// comment unreadable.
//
// Source: PVE API, GET /pools?poolid=, which returns a list with one pool.
func (r *Reader) PoolComment(ctx context.Context, pool string) (comment string, found bool, err error) {
	if !encode.PoolName().MatchString(pool) {
		return "", false, fmt.Errorf("read pool %q: not a pool name", pool)
	}
	pools, err := get[[]struct {
		PoolID  string       `json:"poolid"`
		Comment reply.Scalar `json:"comment"`
	}](ctx, r, &wire.Exchange{Route: route.Pools, Path: "/pools?poolid=" + url.QueryEscape(pool)})
	switch {
	case isMissingPool(err, pool):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("read pool %s: %w", pool, err)
	case len(pools) != 1 || pools[0].PoolID != pool:
		return "", false, fmt.Errorf("read pool %s: the reply is not about this pool alone", pool)
	}
	return string(pools[0].Comment), true, nil
}

// SetPoolComment writes the comment of a pool, and creates the pool if there is none. It needs Pool.Allocate. The comment is one line.
// After ErrOutcomeUnknown only PoolComment shows whether the comment was written.
//
// Source: PVE API, PUT and POST /pools.
func (c *Client) SetPoolComment(ctx context.Context, pool, comment string) error {
	if !encode.PoolName().MatchString(pool) {
		return fmt.Errorf("write pool %q: not a pool name", pool)
	}
	params := map[string]string{"poolid": pool, "comment": comment}
	if err := encode.CheckParams(params); err != nil {
		return fmt.Errorf("write pool %s: %w", pool, err)
	}
	_, err := c.write(ctx, &wire.Exchange{Method: http.MethodPut, Route: route.Pools, Path: "/pools"}, params)
	if isMissingPool(err, pool) {
		_, err = c.write(ctx, &wire.Exchange{Method: http.MethodPost, Route: route.Pools, Path: "/pools"}, params)
	}
	if err != nil {
		return fmt.Errorf("write pool %s: %w", pool, err)
	}
	return nil
}

// isMissingPool reports whether err is Proxmox's answer that there is no such pool.
func isMissingPool(err error, pool string) bool {
	var api *wire.APIError
	return errors.As(err, &api) && strings.HasSuffix(api.Text(), "pool '"+pool+"' does not exist")
}
