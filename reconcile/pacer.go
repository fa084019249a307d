package reconcile

import "time"

// Cycles that results of lanes cause take at most about a tenth of the time. So their cost for each guest does not grow with the number of
// guests, although each cycle plans all guests, and a cycle of a small cluster still follows a result within milliseconds.
const cycleRest = 9 // times the length of the last cycle

// maxRest bounds the time that a result waits for its cycle.
const maxRest = 2 * time.Second

// pacer delays the cycle after the result of a lane, so that one cycle takes the results of several lanes.
type pacer struct {
	*time.Timer
	isSet bool
}

func newPacer() *pacer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &pacer{Timer: t}
}

// span is the time that a cycle took.
type span struct {
	ended  time.Time
	length time.Duration
}

// schedule sets the timer for the next cycle after the last one, unless it is set.
func (p *pacer) schedule(last span) {
	if p.isSet {
		return
	}
	p.isSet = true
	p.Reset(time.Until(last.ended.Add(min(cycleRest*last.length, maxRest))))
}

// fired notes that the timer has fired.
func (p *pacer) fired() { p.isSet = false }
