package proxmox

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"gitops-agent/reconcile/guest"

	pve "github.com/luthermonson/go-proxmox"
)

// Version is a release of Proxmox VE.
type Version struct{ Major, Minor, Patch int }

// String returns "9.2.11".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Version reads the release of the endpoint that answers. It is the cheapest call that proves address, certificate and token.
//
// The library's Version method is not used: it writes a field of the client without a lock.
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
		return Version{}, fmt.Errorf("%q is not a release", text)
	}
	numbers := make([]int, 3)
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return Version{}, fmt.Errorf("%q is not a release", text)
		}
		numbers[i] = int(n)
	}
	return Version{Major: numbers[0], Minor: numbers[1], Patch: numbers[2]}, nil
}

// maxVersionAge is how long a version that was read stays in use. The version changes only when a node is upgraded.
const maxVersionAge = 10 * time.Minute

// versionCache stores the cluster's version, so that not every inventory reads it.
type versionCache struct {
	mu     sync.Mutex
	known  guest.Version
	readAt time.Time
}

// get returns the version of the endpoint that answers. If the version cannot be read, get returns the previous version; the zero Version
// means unknown.
func (c *versionCache) get(ctx context.Context, r *Reader, now time.Time) guest.Version {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known != (guest.Version{}) && now.Sub(c.readAt) < maxVersionAge {
		return c.known
	}
	if v, err := r.Version(ctx); err == nil {
		c.known, c.readAt = guest.Version{Major: v.Major, Minor: v.Minor}, now
	}
	return c.known
}
