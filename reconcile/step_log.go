package reconcile

import (
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/report"
)

// loggedHooks returns the caller's hooks of lanes with log lines for each step.
func (e *Engine) loggedHooks() lane.Hooks {
	h := e.opts.Hooks.Lane
	begun, ended, settled := h.OnStepBegun, h.OnStep, h.OnSettled
	h.OnStepBegun = func(s report.StepBegun) {
		if begun != nil {
			begun(s) // first, so that the line can name the trace of the step
		}
		e.log.Info("step begun", event.Key, event.StepBegun, "vmid", s.Step.Guest.VMID, "guest", s.Step.Guest.Label(), "op", string(s.Step.Op), "step", s.ID,
			"revision", s.Revision, "why", s.Step.Reason)
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
	h.OnSettled = func(o report.SettledOutcome) {
		s := o.Step
		e.log.Info("open step settled", event.Key, event.StepSettled, "vmid", s.VMID, "op", s.Op, "step", s.Step, "revision", s.Revision, "result", string(o.Result))
		if s.Op == journal.OpDestroy && o.Result == journal.Done {
			e.log.Info("guest destroyed", event.Key, event.GuestDestroyed, "vmid", s.VMID, "step", s.Step, "revision", s.Revision)
		}
		if settled != nil {
			settled(o)
		}
	}
	return h
}
