package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

var poolName = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}$`)

// PoolComment reads the comment of a pool; false where there is no such pool.
//
// Source: PVE API, GET /pools?poolid=, which answers with a list of one.
func (r *Reader) PoolComment(ctx context.Context, pool string) (comment string, found bool, err error) {
	if !poolName.MatchString(pool) {
		return "", false, fmt.Errorf("read pool %q: not a pool name", pool)
	}
	pools, err := get[[]struct {
		PoolID  string `json:"poolid"`
		Comment scalar `json:"comment"`
	}](ctx, r, &exchange{route: routePools, path: "/pools?poolid=" + url.QueryEscape(pool)})
	switch {
	case isMissingPool(err, pool):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("read pool %s: %w", pool, err)
	case len(pools) != 1 || pools[0].PoolID != pool:
		return "", false, fmt.Errorf("read pool %s: reply does not speak of it alone", pool)
	}
	return string(pools[0].Comment), true, nil
}

// SetPoolComment writes the comment of a pool and makes the pool if there is none. It needs Pool.Allocate. The comment is
// one line. ErrOutcomeUnknown means that PoolComment has to tell.
//
// Source: PVE API, PUT and POST /pools.
func (c *Client) SetPoolComment(ctx context.Context, pool, comment string) error {
	if !poolName.MatchString(pool) {
		return fmt.Errorf("write pool %q: not a pool name", pool)
	}
	params := map[string]string{"poolid": pool, "comment": comment}
	if err := checkParams(params); err != nil {
		return fmt.Errorf("write pool %s: %w", pool, err)
	}
	_, err := c.write(ctx, &exchange{method: http.MethodPut, route: routePools, path: "/pools"}, params)
	if isMissingPool(err, pool) {
		_, err = c.write(ctx, &exchange{method: http.MethodPost, route: routePools, path: "/pools"}, params)
	}
	if err != nil {
		return fmt.Errorf("write pool %s: %w", pool, err)
	}
	return nil
}

func isMissingPool(err error, pool string) bool {
	var api *APIError
	return errors.As(err, &api) && strings.HasSuffix(api.Text(), "pool '"+pool+"' does not exist")
}
