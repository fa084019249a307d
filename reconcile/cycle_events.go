package reconcile

import (
	"slices"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// journalEvent adds an event whose row has a record to the audit history.
func (e *Engine) journalEvent(ev event.Event) {
	row, _ := event.RowOf(ev.Name)
	if n := ev.Note; row.Record != "" {
		e.event(journal.Event{Name: row.Record, VMID: n.VMID, Revision: n.Revision, Message: n.Message, Detail: n.Detail, Hint: n.Hint})
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
