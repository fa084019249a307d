package traces

import (
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/report"
)

// Event records what happened: the begin and the end of steps and holds, refusals, and guests that differ.
func (r *Recorder) Event(e event.Event) {
	switch o := e.Outcome.(type) {
	case report.StepBegun:
		r.StepBegun(o)
	case report.StepOutcome:
		r.StepEnded(o)
	case report.SettledOutcome:
		r.StepSettled(o)
	case report.HoldOutcome:
		r.Hold(e.Name, o)
	case report.Refused:
		if e.Name != event.RevisionWithdrawn {
			r.Refused(o)
		}
	case report.DriftOutcome:
		if e.Name == event.GuestDrifted {
			r.Drift(o)
		}
	}
}
