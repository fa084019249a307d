package reconcile

import (
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// loggedHooks returns the caller's hooks of lanes with log lines for each step.
func (e *Engine) loggedHooks() lane.Hooks {
	h := e.opts.Hooks.Lane
	begun, ended, recovered := h.OnStepBegun, h.OnStep, h.OnRecovered
	h.OnStepBegun = func(step plan.Step, id string) {
		e.log.Info("step begun", event.Key, event.StepBegun, "vmid", step.Guest.VMID, "guest", step.Guest.Label(), "op", string(step.Op), "step", id, "why", step.Reason)
		if begun != nil {
			begun(step, id)
		}
	}
	h.OnStep = func(o report.StepOutcome) {
		attrs := []any{
			event.Key, event.StepEnded, "vmid", o.Step.Guest.VMID, "guest", o.Step.Guest.Label(), "op", string(o.Step.Op), "step", o.ID,
			"result", string(o.Result), "revision", o.Revision, "duration", o.Duration,
		}
		if o.Err != nil {
			attrs = append(attrs, "error", o.Err)
		}
		if len(o.Warnings) > 0 {
			attrs = append(attrs, "warnings", o.Warnings)
		}
		if o.Result == journal.Done {
			e.log.Info("step done", attrs...)
			if o.Step.Op == cluster.OpDestroy {
				e.log.Info("guest destroyed", event.Key, event.GuestDestroyed, "vmid", o.Step.Guest.VMID, "guest", o.Step.Guest.Label(), "step", o.ID, "revision", o.Revision)
			}
		} else {
			e.log.Warn("step not done", attrs...)
		}
		if ended != nil {
			ended(o)
		}
	}
	h.OnRecovered = func(vmid int, op cluster.Op, result journal.Result) {
		e.log.Info("open step settled", event.Key, event.StepSettled, "vmid", vmid, "op", string(op), "result", string(result))
		if op == cluster.OpDestroy && result == journal.Done {
			e.log.Info("guest destroyed", event.Key, event.GuestDestroyed, "vmid", vmid)
		}
		if recovered != nil {
			recovered(vmid, op, result)
		}
	}
	return h
}
