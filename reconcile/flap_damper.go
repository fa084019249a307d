package reconcile

import (
	"time"
)

// flapDamper tells a guest that somebody keeps changing back from one that drifts now and then. Every time that a lane had work warms
// it by one, and by heavy where that moved the guest or its disks or restarted it; it cools by one in coolOne.
type flapDamper struct {
	level float64
	at    time.Time
}

// Bounds of heat. A guest above tooWarm rests until it has cooled below, so a fight costs one repair in coolOne, and one move or restart in a
// quarter of an hour.
const (
	flapLimit = 8
	heavyCost = 6
	flapDecay = 2 * time.Minute
)

// workCost is by how much what a lane did warms its guest.
func workCost(isHeavy bool) float64 {
	if isHeavy {
		return heavyCost
	}
	return 1
}

func (h flapDamper) now(now time.Time) float64 {
	return max(0, h.level-float64(now.Sub(h.at))/float64(flapDecay))
}

func (h flapDamper) add(now time.Time, by float64) flapDamper {
	return flapDamper{level: h.now(now) + by, at: now}
}

func (h flapDamper) overLimit(now time.Time) bool { return h.now(now) > flapLimit }
