package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"gitops-agent/reconcile/cluster"

	pve "github.com/luthermonson/go-proxmox"
)

// Exists asks whether a vmid is taken, by a guest of either kind, seen or unseen by this token. It needs no privilege.
//
// Source: PVE API, GET /cluster/nextid.
func (r *Reader) Exists(ctx context.Context, vmid int) (bool, error) {
	x := &exchange{route: routeNextID, path: "/cluster/nextid?vmid=" + strconv.Itoa(vmid)}
	free, err := get[integer](ctx, r, x)
	var api *APIError
	switch {
	case errors.As(err, &api) && api.Status == http.StatusBadRequest && strings.Contains(api.Errors["vmid"], "already exists"):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("look up vmid %d: %w", vmid, err)
	case int(free) != vmid:
		return false, fmt.Errorf("look up vmid %d: reply speaks of %d", vmid, int(free))
	}
	return false, nil
}

// Ready fails with reconcile.ErrNotReady while the cluster has no quorum, does not answer or is too old, and with
// reconcile.ErrDenied if the token may not ask: Sys.Audit on / is needed. A single node has no quorum to lose.
//
// Source: PVE API, GET /cluster/status and GET /version.
func (r *Reader) Ready(ctx context.Context) error {
	version, err := r.Version(ctx)
	if err != nil {
		return err
	}
	if version.Major < oldestMajor {
		return fmt.Errorf("%w: Proxmox VE %s, want %d or newer", cluster.ErrNotReady, version, oldestMajor)
	}
	members, err := get[[]member](ctx, r, &exchange{route: routeClusterInfo, path: "/cluster/status"})
	if err != nil {
		return fmt.Errorf("read cluster status: %w", err)
	}
	if len(members) == 0 {
		return fmt.Errorf("%w: cluster status is empty", cluster.ErrNotReady)
	}
	for _, m := range members {
		if m.Type == "cluster" && !m.Quorate.flag() {
			return fmt.Errorf("%w: cluster %s has no quorum", cluster.ErrNotReady, m.Name)
		}
	}
	return nil
}

// member is a row of /cluster/status: the cluster itself, where there is one, and each node.
type member struct {
	Type    string `json:"type"`
	Name    scalar `json:"name"`
	Quorate scalar `json:"quorate"`
}

// oldestMajor is the oldest release line whose replies this package knows.
const oldestMajor = 8

// Version is a release of Proxmox VE.
type Version struct{ Major, Minor, Patch int }

// String returns "9.2.11".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Version asks the endpoint for its release. It is the cheapest call that proves address, certificate and token.
//
// Source: PVE API, GET /version.
func (r *Reader) Version(ctx context.Context) (Version, error) {
	reply, err := get[pve.Version](ctx, r, &exchange{route: routeVersion, path: "/version"})
	if err != nil {
		return Version{}, fmt.Errorf("read version: %w", err)
	}
	version, err := parseVersion(reply.Version)
	if err != nil {
		return Version{}, fmt.Errorf("read version: %w", err)
	}
	return version, nil
}

// parseVersion reads "9.2.11", "8.4" and "9.0.0~beta1".
func parseVersion(text string) (Version, error) {
	released := text
	if at := strings.IndexAny(text, "~-+"); at >= 0 {
		released = text[:at]
	}
	parts := strings.Split(released, ".")
	if len(parts) > 3 {
		return Version{}, fmt.Errorf("%q is no release", text)
	}
	numbers := make([]int, 3)
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return Version{}, fmt.Errorf("%q is no release", text)
		}
		numbers[i] = int(n)
	}
	return Version{Major: numbers[0], Minor: numbers[1], Patch: numbers[2]}, nil
}
