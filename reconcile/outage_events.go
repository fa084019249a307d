package reconcile

import (
	"context"
	"slices"
	"time"

	"gitops-agent/gitsource/fault"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// noteOutage logs that the cluster cannot be worked with, or for another reason than before, and that it can again.
func (e *Engine) noteOutage(ctx context.Context) {
	now := e.proxmox.Reason
	if now == e.outage || now == cluster.OutageUnread || ctx.Err() != nil {
		return
	}
	e.outage = now
	if now == cluster.OutageNone {
		e.log.InfoContext(ctx, "cluster can be worked with", event.Key, event.ClusterReady)
		return
	}
	e.log.WarnContext(ctx, "cluster cannot be worked with", event.Key, event.ClusterLost, "reason", string(now), "error", e.proxmox.Error)
}

// noteSource logs that the branch cannot be fetched, or for another reason than before, and that it can again. Was is the reason of the poll before.
func (e *Engine) noteSource(ctx context.Context, was fault.Fault) {
	now := e.source.Reason
	switch {
	case now == was || ctx.Err() != nil:
	case now == fault.None:
		e.log.InfoContext(ctx, "branch fetched", event.Key, event.SourceAnswers, "remote", e.source.Remote)
	default:
		e.log.WarnContext(ctx, "branch not fetched", event.Key, event.SourceLost, "reason", string(now), "error", e.source.Error)
	}
}

// noteHidden logs that the token may not see a guest any more, and that it may again.
func (e *Engine) noteHidden(t *track, p plan.Guest) {
	hidden := slices.ContainsFunc(t.now.conditions, func(c plan.Condition) bool { return c.Reason == reason.Hidden })
	switch {
	case hidden && !t.hidden:
		e.log.Warn("guest hidden from the token", event.Key, event.GuestHidden, "vmid", p.Ref.VMID, "guest", p.Ref.Label())
	case !hidden && t.hidden && t.now.sync == report.SyncUnknown:
		return // not known
	case !hidden && t.hidden:
		e.log.Info("guest visible again", event.Key, event.GuestVisible, "vmid", p.Ref.VMID, "guest", p.Ref.Label())
	}
	t.hidden = hidden
}

// readEndpoints notes the states of the endpoints of the cluster for this cycle.
func (e *Engine) readEndpoints() {
	if e.opts.Endpoints != nil {
		e.endpoints = e.opts.Endpoints()
	}
}

// noteClocks logs that the clock of an endpoint differs from that of this host, and that it no longer does.
func (e *Engine) noteClocks() {
	for _, endpoint := range e.endpoints {
		switch differs := endpoint.ClockDiffers(); {
		case differs == e.clocks[endpoint.Address]:
		case differs:
			if e.clocks == nil {
				e.clocks = make(map[string]bool)
			}
			e.clocks[endpoint.Address] = true
			e.log.Warn("clocks differ", event.Key, event.ClockDiffers, "endpoint", endpoint.Address, "ahead_seconds", endpoint.ClockAhead)
		default:
			delete(e.clocks, endpoint.Address)
			e.log.Info("clocks agree again", event.Key, event.ClockAgrees, "endpoint", endpoint.Address)
		}
	}
}

// noteJournal logs that the journal takes no more records. Only a start of the agent ends that, but a standby can follow the journal again.
func (e *Engine) noteJournal() {
	err := e.opts.Journal.Healthy()
	if fault := journal.FaultOf(err); fault != e.fault {
		e.fault = fault
		if err == nil {
			e.log.Info("journal is followed again")
			return
		}
		e.log.Error("journal cannot be written, nothing is written to the cluster", event.Key, event.JournalFailed, "reason", string(fault), "error", err)
	}
}

// readRoot notes and logs whether the trusted root has expired, so that no new signature can be verified, and whether a newer root has replaced it.
func (e *Engine) readRoot(now time.Time) {
	end := e.source.RootExpires
	expired := !end.IsZero() && end.Before(now)
	switch {
	case expired && !e.source.RootExpired:
		e.log.Warn("trusted root expired, no new signature can be verified", event.Key, event.RootExpired, "expired", end)
	case !expired && e.source.RootExpired:
		e.log.Info("trusted root is valid again", event.Key, event.RootRenewed, "expires", end)
	}
	e.source.RootExpired = expired
}
