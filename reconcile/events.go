package reconcile

import (
	"context"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// drifted tells logs, metrics and the journal's history of drift that appeared or was repaired.
func (e *Engine) drifted(o report.DriftOutcome) {
	name := "drift-found"
	if o.Repaired {
		name = "drift-repaired"
	}
	e.log.Info("drift changed", "event", name, "vmid", o.Guest.VMID, "guest", o.Guest.Label(), "cause", string(o.Cause), "keys", o.Keys)
	e.event(journal.Event{Name: name, VMID: o.Guest.VMID, Message: string(o.Cause)})
	e.opts.Hooks.drift(o)
}

// event adds to the audit history. Losing one is no reason to stop; the journal's own health tells.
func (e *Engine) event(ev journal.Event) {
	if ev.Revision == "" {
		ev.Revision = e.world.Load().Revision
	}
	if e.opts.Journal.Healthy() == nil && !e.opts.DryRun {
		_ = e.opts.Journal.Append(context.Background(), ev)
	}
}

// loggedHooks returns the caller's hooks of lanes with log lines for each step.
func (e *Engine) loggedHooks() lane.Hooks {
	h := e.opts.Hooks.Lane
	begun, ended, recovered := h.OnStepBegun, h.OnStep, h.OnRecovered
	h.OnStepBegun = func(step plan.Step, id string) {
		e.log.Info("step begun", "vmid", step.Guest.VMID, "guest", step.Guest.Label(), "op", string(step.Op), "step", id, "why", step.Reason)
		if begun != nil {
			begun(step, id)
		}
	}
	h.OnStep = func(o report.StepOutcome) {
		attrs := []any{
			"vmid", o.Step.Guest.VMID, "guest", o.Step.Guest.Label(), "op", string(o.Step.Op), "step", o.ID,
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
		} else {
			e.log.Warn("step not done", attrs...)
		}
		if ended != nil {
			ended(o)
		}
	}
	h.OnRecovered = func(vmid int, op cluster.Op, result journal.Result) {
		e.log.Info("open step settled", "vmid", vmid, "op", string(op), "result", string(result))
		if recovered != nil {
			recovered(vmid, op, result)
		}
	}
	return h
}
