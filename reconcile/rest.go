package reconcile

import (
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
)

// rest is one look at lanes, journal and readings together. It decides which readings the engine may compare with the journal, so that a record of the engine never
// replaces a newer one of a lane.
type rest struct {
	state   journal.State
	read    cluster.Snapshot
	working map[object.Key]bool // its lane works on it, its lane's result was not taken, or a step of it is open
	ended   func(object.Key) time.Time
}

// atRest takes the look.
func (e *Engine) atRest() rest {
	return newRest(e.working, e.opts.Journal.State, e.readings.observer.Snapshot, func(key object.Key) time.Time {
		if t, known := e.tracks[key]; known {
			return t.turnEnded
		}
		return time.Time{}
	})
}

// newRest takes the look in this order: first the lanes, then the journal, then the readings. Only the engine gives work to lanes, so a lane without work stays so until
// the engine goes on, and what it has journaled before is in the state.
func newRest(working func() map[object.Key]bool, state func() journal.State, read func() cluster.Snapshot, ended func(object.Key) time.Time) rest {
	r := rest{working: working(), ended: ended}
	r.state = state()
	for _, open := range r.state.Open {
		r.working[open.Key()] = true
	}
	r.read = read()
	return r
}

// working returns the objects whose lanes have work, or a result that was not taken. A lane posts its result before it ends, so the lanes are looked at first.
func (e *Engine) working() map[object.Key]bool {
	working := make(map[object.Key]bool)
	for _, key := range e.queue.Lanes() {
		working[key] = true
	}
	for _, key := range e.lanes.keys() {
		working[key] = true
	}
	return working
}

// has reports whether nothing works on an object, so that the journal has all that lanes have done to it.
func (r *rest) has(key object.Key) bool { return !r.working[key] }

// isNewer reports whether a reading that began at a time shows all that lanes have done to an object: an older one may show the state before the last step.
func (r *rest) isNewer(key object.Key, began time.Time) bool {
	return r.has(key) && began.After(r.ended(key))
}
