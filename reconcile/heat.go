package reconcile

import "time"

// heat tells a guest that somebody keeps changing back from one that drifts now and then. Every time that a lane had work warms
// it by one, and by heavy where that moved the guest or its disks or restarted it; it cools by one in coolOne.
type heat struct {
	degrees float64
	at      time.Time
}

// Bounds of heat. A guest above tooWarm rests until it has cooled below, so a fight costs one repair in coolOne, and one move or restart in a
// quarter of an hour.
const (
	tooWarm = 8
	heavy   = 6
	coolOne = 2 * time.Minute
)

// isHeavy reports whether an operation costs so much that a fight over it must be slow.
func isHeavy(op Op) bool { return op == OpMigrate || op == OpMove || op == OpReboot }

// warmth is by how much what a lane did warms its guest.
func warmth(isHeavy bool) float64 {
	if isHeavy {
		return heavy
	}
	return 1
}

func (h heat) now(now time.Time) float64 {
	return max(0, h.degrees-float64(now.Sub(h.at))/float64(coolOne))
}

func (h heat) warmer(now time.Time, by float64) heat {
	return heat{degrees: h.now(now) + by, at: now}
}

func (h heat) tooHot(now time.Time) bool { return h.now(now) > tooWarm }
