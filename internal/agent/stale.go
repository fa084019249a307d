package agent

import (
	"cmp"
	"time"
)

// The engine's own defaults, and the longest pause that it makes while the cluster does not answer.
const (
	defaultTick   = 15 * time.Second
	defaultResync = time.Minute
	outagePause   = 2 * time.Minute
)

// staleAfter is the age of a report from which on /healthz takes the engine for stuck: twice the longest time that one may take, which
// is a pause during an outage and a round of full reads.
func (c Config) staleAfter() time.Duration {
	tick := cmp.Or(time.Duration(c.Proxmox.Tick), defaultTick)
	resync := cmp.Or(time.Duration(c.Proxmox.Resync), defaultResync)
	return 2 * (max(tick, outagePause) + resync)
}
