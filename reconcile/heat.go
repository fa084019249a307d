package reconcile

import "time"

// heat tells a guest that somebody keeps changing back from one that drifts now and then. Every time that a lane had work warms
// it by one; it cools by one in coolOne.
type heat struct {
	degrees float64
	at      time.Time
}

// Bounds of heat. A guest above tooWarm rests until it has cooled below, so a fight costs one repair in coolOne.
const (
	tooWarm = 8
	coolOne = 2 * time.Minute
)

func (h heat) now(now time.Time) float64 {
	return max(0, h.degrees-float64(now.Sub(h.at))/float64(coolOne))
}

func (h heat) warmer(now time.Time) heat { return heat{degrees: h.now(now) + 1, at: now} }

func (h heat) tooHot(now time.Time) bool { return h.now(now) > tooWarm }
