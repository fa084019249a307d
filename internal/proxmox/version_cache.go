package proxmox

import (
	"sync"
	"time"

	"gitops-agent/reconcile/guest"
)

// maxVersionAge is how long a version that was read stays in use. The version changes only when a node is upgraded.
const maxVersionAge = 10 * time.Minute

// versionCache stores the cluster's version, so that not every inventory reads it.
type versionCache struct {
	mu     sync.Mutex
	known  guest.Version
	readAt time.Time
}

// get returns the cluster's version, and calls read if the stored version is too old. If read fails, get returns the stored version; the
// zero Version means unknown.
func (c *versionCache) get(now time.Time, read func() (Version, error)) guest.Version {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known != (guest.Version{}) && now.Sub(c.readAt) < maxVersionAge {
		return c.known
	}
	if v, err := read(); err == nil {
		c.known, c.readAt = guest.Version{Major: v.Major, Minor: v.Minor}, now
	}
	return c.known
}
