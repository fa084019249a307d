package proxmox

import (
	"context"
	"sync"
	"time"

	"gitops-agent/reconcile/guest"
)

// releaseAge is how long a release that was asked for stands: an upgrade is no matter of minutes.
const releaseAge = 10 * time.Minute

// release remembers the cluster's release, so that a tick does not ask for it every time.
type release struct {
	mu    sync.Mutex
	known guest.Version
	asked time.Time
}

// of returns the release of the endpoint that answers. While it cannot be asked, the last answer stands; the zero Version is
// "nobody knows".
func (m *release) of(ctx context.Context, r *Reader, now time.Time) guest.Version {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known != (guest.Version{}) && now.Sub(m.asked) < releaseAge {
		return m.known
	}
	if v, err := r.Version(ctx); err == nil {
		m.known, m.asked = guest.Version{Major: v.Major, Minor: v.Minor}, now
	}
	return m.known
}
