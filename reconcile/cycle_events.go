package reconcile

import (
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// plannedStep identifies a step of a plan for its log line.
type plannedStep struct {
	guest guest.Ref
	op    cluster.Op
	class guest.Class
}

// notePlan logs a plan that has a step which the plan before did not have. A plan from which steps have disappeared is not logged: step.ended states what
// the agent did, and revision.converged and guest.repaired that nothing is left.
func (e *Engine) notePlan(planned plan.Plan, made report.PlanOutcome) {
	var steps map[plannedStep]bool
	guests, news := 0, false
	for _, p := range planned.Guests {
		if len(p.Steps) > 0 {
			guests++
		}
		for _, s := range p.Steps {
			if steps == nil {
				steps = make(map[plannedStep]bool)
			}
			step := plannedStep{p.Ref, s.Op, s.Class}
			steps[step] = true
			news = news || !e.planned[step]
		}
	}
	e.planned = steps
	if !news {
		return
	}
	attrs := []any{event.Key, event.PlanMade, "revision", e.basis.Load().Revision, "guests", guests}
	for _, class := range guest.Classes() {
		attrs = append(attrs, string(class), made.Steps[class])
	}
	e.log.Info("plan made", append(attrs, "duration", made.Duration)...)
}

// noteWrites logs that nothing may be written to the cluster any more, or for another reason than before, and that it may be written to again.
func (e *Engine) noteWrites() {
	b := e.basis.Load()
	if b.NoWrites == e.stopped {
		return
	}
	e.stopped = b.NoWrites
	if b.NoWrites == reason.WritesAllowed {
		e.log.Info("writing allowed", event.Key, event.WritesAllowed, "revision", b.Revision)
		return
	}
	e.log.Warn("writing stopped", event.Key, event.WritesStopped, "reason", string(b.NoWrites), "why", b.Why)
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
