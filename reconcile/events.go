package reconcile

import (
	"context"
	"slices"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// Hooks are called for what happens and for what is measured. Each field may be nil. The functions are called from the engine and from lanes, so they must
// return quickly and be safe for concurrent use.
type Hooks struct {
	Intake      intake.Hooks
	OnEvent     func(event.Event) // once for everything that happens: see package event
	OnReport    func(report.Report)
	OnPlan      func(report.PlanOutcome)
	OnQueueWait func(d time.Duration)
}

func (h Hooks) report(r report.Report) {
	if h.OnReport != nil {
		h.OnReport(r)
	}
}

func (h Hooks) plan(o report.PlanOutcome) {
	if h.OnPlan != nil {
		h.OnPlan(o)
	}
}

// journalEvent adds an event whose row has a record to the audit history.
func (e *Engine) journalEvent(ev event.Event) {
	row, _ := event.RowOf(ev.Name)
	if n := ev.Note; row.Record != "" {
		e.event(journal.Event{Name: row.Record, VMID: n.VMID, Revision: n.Revision, Message: n.Message, Detail: n.Detail, Hint: n.Hint})
	}
}

// event adds to the audit history. The journal's own health reports a failure, so an event may be lost.
func (e *Engine) event(ev journal.Event) {
	if ev.Revision == "" {
		ev.Revision = e.basis.Load().Revision
	}
	if e.opts.Journal.Healthy() == nil && !e.opts.DryRun {
		_ = e.opts.Journal.Append(context.Background(), ev)
	}
}

// notePlan tells of a plan that has a step which the plan before did not have. A plan from which steps have disappeared is not told: step.ended states what
// the agent did, and revision.converged and guest.repaired that nothing is left.
func (e *Engine) notePlan(planned plan.Plan, made report.PlanOutcome) {
	guests, news := 0, false
	for _, p := range planned.Guests {
		t, known := e.tracks[keyOf(p.Ref)]
		if len(p.Steps) > 0 {
			guests++
			t, known = e.track(p.Ref), true
		}
		for _, s := range p.Steps {
			isNew := t.said.Lasts(event.PlannedStep, event.ID{p.Ref.Name, string(s.Op), string(s.Class)}, nil)
			news = news || isNew
		}
		if known {
			t.said.Rest(event.PlannedStep, nil)
		}
	}
	if !news {
		return
	}
	fields := []any{"revision", e.basis.Load().Revision, "guests", guests}
	for _, class := range guest.Classes() {
		fields = append(fields, string(class), made.Steps[class])
	}
	e.events.Happened(event.PlanMade, event.Details{Fields: append(fields, "duration", made.Duration)})
}

// labelOf returns the label of an object, "" for a guest that no manifest names and the agent does not own.
func (e *Engine) labelOf(key object.Key) string {
	if key.VMID == 0 {
		return key.Label
	}
	vmid := key.VMID
	if i := slices.IndexFunc(e.guests, func(d guest.Desired) bool { return d.VMID == vmid }); i >= 0 {
		return e.guests[i].Label()
	}
	if owned, found := e.opts.Journal.State().Owned[vmid]; found {
		return guest.Ref{Kind: guest.Kind(owned.Kind), Name: owned.Name}.Label()
	}
	return ""
}

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
