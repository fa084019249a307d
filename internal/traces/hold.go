package traces

import (
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/report"
)

// holdKey identifies a held step. A guest has at most one of an operation.
type holdKey struct {
	vmid  int
	label string
	op    string
}

// hold is a step that waits, for an approval for example.
type hold struct {
	held   report.HoldOutcome
	begun  time.Time
	parent *revision // nil if it is part of a repair
}

func keyOf(o report.HoldOutcome) holdKey {
	return holdKey{o.Guest.VMID, o.Guest.Label(), string(o.Step.Op)}
}

// Hold begins and ends the span of a held step.
func (r *Recorder) Hold(name event.Name, o report.HoldOutcome) {
	r.record(func(now time.Time) {
		key := keyOf(o)
		switch name { //nolint:exhaustive // no other event concerns a hold
		case event.StepHeld:
			if h := r.holds[key]; h != nil && h.held.Step.Reason == o.Step.Reason && h.held.Step.Digest == o.Step.Digest {
				return // a reload reports present holds again
			}
			r.endHold(key, resultChanged, now)
			r.beginHold(o, now)
		case event.StepReleased:
			r.endHold(key, resultReleased, now)
		case event.StepWithdrawn:
			r.endHold(key, resultWithdrawn, now)
		}
	})
}

func (r *Recorder) beginHold(o report.HoldOutcome, now time.Time) {
	r.resume(r.past.Commit)
	key := keyOf(o)
	r.holds[key] = &hold{held: o, begun: now, parent: r.current}
	if r.current == nil {
		r.repair(key.vmid, key.label, now)
	}
}

// endHolds ends the spans of all holds, and returns the holds.
func (r *Recorder) endHolds(now time.Time) []report.HoldOutcome {
	var held []report.HoldOutcome
	for key, h := range r.holds {
		held = append(held, h.held)
		r.endHold(key, resultSuperseded, now)
	}
	return held
}

func (r *Recorder) endHold(key holdKey, result string, now time.Time) {
	h := r.holds[key]
	if h == nil {
		return
	}
	delete(r.holds, key)
	s := span{
		name: spanHold, begun: h.begun, end: now,
		attributes: append(ofGuest(key.label, key.vmid), text(keyOp, key.op), text(keyClass, string(h.held.Step.Class)),
			text(keyReason, string(h.held.Step.Reason)), text(keyResult, result)),
	}
	if digest := h.held.Step.Digest; digest != "" {
		s.attributes = append(s.attributes, text(keyDigest, digest))
	}
	repaired := r.repairs[key.vmid]
	switch {
	case h.parent != nil:
		r.emit(h.parent.position, s)
	case repaired == nil: // a person brought the guest back
	case !repaired.isZero():
		r.emit(repaired.position, s)
	case len(repaired.earlier) < maxEarlier:
		repaired.earlier = append(repaired.earlier, s)
	}
}
