package reconcile

import (
	"time"
)

// flapDamper distinguishes a guest that is changed back again and again from a guest that drifts only sometimes. It is a leaky bucket: every turn of a
// lane that executed steps adds 1, or heavyCost if a step moved the guest or its disks or restarted it, and 1 leaks in flapLeak.
type flapDamper struct {
	level float64
	at    time.Time // when level was computed
}

// Bounds of the bucket. A guest above flapLimit waits until enough has leaked. So a guest that is always changed back gets one repair in
// flapLeak, or one move or restart in heavyCost times flapLeak.
const (
	flapLimit = 8
	heavyCost = 6
	flapLeak  = 2 * time.Minute
)

// flapCost returns the amount that a turn adds to the bucket.
func flapCost(heavy bool) float64 {
	if heavy {
		return heavyCost
	}
	return 1
}

func (d flapDamper) levelAt(now time.Time) float64 {
	return max(0, d.level-float64(now.Sub(d.at))/float64(flapLeak))
}

func (d flapDamper) add(now time.Time, cost float64) flapDamper {
	return flapDamper{level: d.levelAt(now) + cost, at: now}
}

func (d flapDamper) overLimit(now time.Time) bool { return d.levelAt(now) > flapLimit }
