package reconcile

import (
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/report"
)

// stepHooks returns what the lanes call. It is safe for concurrent use.
func stepHooks(events *event.Sink) lane.Hooks {
	return lane.Hooks{
		OnStepBegun: func(s report.StepBegun) {
			events.Happened(event.StepBegun, event.Details{Outcome: s, Fields: []any{
				"vmid", s.Step.Guest.VMID, "guest", s.Step.Guest.Label(), "op", string(s.Step.Op), "step", s.ID, "revision", s.Revision, "why", s.Step.Reason,
			}})
		},
		OnStep: func(o report.StepOutcome) {
			vmid, label := o.Step.Guest.VMID, o.Step.Guest.Label()
			events.Happened(event.StepEnded, event.Details{Outcome: o, Fine: o.Result == journal.Done, Fields: []any{
				"vmid", vmid, "guest", label, "op", string(o.Step.Op), "step", o.ID, "result", string(o.Result), "revision", o.Revision, "duration", o.Duration,
				"error", o.Err, "warnings", o.Warnings,
			}})
			if o.Result == journal.Done && o.Step.Op == cluster.OpDestroy {
				events.Happened(event.GuestDestroyed, event.Details{Fields: []any{"vmid", vmid, "guest", label, "step", o.ID, "revision", o.Revision}})
			}
		},
		OnSettled: func(o report.SettledOutcome) {
			s := o.Step
			events.Happened(event.StepSettled, event.Details{Outcome: o, Fields: []any{"vmid", s.VMID, "op", s.Op, "step", s.Step, "revision", s.Revision, "result", string(o.Result)}})
			if s.Op == journal.OpDestroy && o.Result == journal.Done {
				events.Happened(event.GuestDestroyed, event.Details{Fields: []any{"vmid", s.VMID, "step", s.Step, "revision", s.Revision}})
			}
		},
	}
}
