package reconcile

import (
	"context"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/plan"
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
func (e *Engine) noteSource(ctx context.Context, was report.SourceReason) {
	now := e.source.Reason
	switch {
	case now == was || ctx.Err() != nil:
	case now == report.SourceAnswers:
		e.log.InfoContext(ctx, "branch fetched", event.Key, event.SourceAnswers, "remote", e.source.Remote)
	default:
		e.log.WarnContext(ctx, "branch not fetched", event.Key, event.SourceLost, "reason", string(now), "error", e.source.Error)
	}
}

// noteHidden logs that the token may not see a guest any more, and that it may again.
func (e *Engine) noteHidden(t *track, p plan.Guest) {
	hidden := slices.ContainsFunc(t.now.conditions, func(c plan.Condition) bool { return c.Reason == plan.ReasonHidden })
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
