package agent

import (
	"cmp"
	"time"
)

// The engine's own defaults, and its longest pause while the cluster does not answer.
const (
	defaultTick   = 15 * time.Second
	defaultResync = time.Minute
	outagePause   = 2 * time.Minute
)

// staleAfter returns the age of a report from which /healthz reports that the engine is stuck: twice the longest time of a cycle, which is a
// pause during an outage and one full read of all guests.
func (c Config) staleAfter() time.Duration {
	tick := cmp.Or(time.Duration(c.Proxmox.Tick), defaultTick)
	resync := cmp.Or(time.Duration(c.Proxmox.Resync), defaultResync)
	return 2 * (max(tick, outagePause) + resync)
}
