package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"gitops-agent/internal/proxmox/reply"
	"gitops-agent/internal/proxmox/route"
	"gitops-agent/internal/proxmox/wire"
)

// Exists reports whether a guest of either kind has the vmid, also if the token may not see the guest. It needs no privilege.
//
// The library's CheckID is not used: it does not read the reply, so that a reply without data means "free".
//
// Source: PVE API, GET /cluster/nextid.
func (r *Reader) Exists(ctx context.Context, vmid int) (bool, error) {
	x := &wire.Exchange{Route: route.NextID, Path: "/cluster/nextid?vmid=" + strconv.Itoa(vmid)}
	free, err := get[reply.Integer](ctx, r, x)
	var api *wire.APIError
	switch {
	case errors.As(err, &api) && api.Status == http.StatusBadRequest && strings.Contains(api.Errors["vmid"], "already exists"):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("look up vmid %d: %w", vmid, err)
	case int(free) != vmid:
		return false, fmt.Errorf("look up vmid %d: the reply is about vmid %d", vmid, int(free))
	}
	return false, nil
}
