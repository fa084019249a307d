package reconcile

import (
	"context"
	"slices"
	"time"

	"gitops-agent/gitsource/fault"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// noteOutage states whether the cluster can be worked with, and why not.
func (e *Engine) noteOutage(ctx context.Context) {
	p := &e.proxmox
	if p.Reason == cluster.OutageUnread || ctx.Err() != nil {
		return
	}
	e.said.Is(event.ClusterLost, p.Reason != cluster.OutageNone, event.ID{string(p.Reason)}, func() event.Details {
		return event.Details{Fields: []any{"reason", string(p.Reason), "error", p.Error}}
	}, nil)
}

// noteSource states whether the branch can be fetched, and why not.
func (e *Engine) noteSource(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	s := &e.source
	e.said.Is(event.SourceLost, s.Reason != fault.None, event.ID{string(s.Reason)}, func() event.Details {
		return event.Details{Fields: []any{"reason", string(s.Reason), "error", s.Error}}
	}, func(event.ID) event.Details { return event.Details{Fields: []any{"remote", s.Remote}} })
}

// noteHidden states whether the token may see a guest. While that is not known, nothing changes.
func noteHidden(t *track, p plan.Guest) {
	hidden := slices.ContainsFunc(t.now.conditions, func(c plan.Condition) bool { return c.Reason == reason.Hidden })
	if !hidden && t.now.sync == report.SyncUnknown {
		return
	}
	t.said.Is(event.GuestHidden, hidden, event.ID{}, func() event.Details {
		return event.Details{Fields: []any{"vmid", p.Ref.VMID, "guest", p.Ref.Label()}}
	}, nil)
}

// readEndpoints notes the states of the endpoints of the cluster for this cycle.
func (e *Engine) readEndpoints() {
	if e.opts.Endpoints != nil {
		e.endpoints = e.opts.Endpoints()
	}
}

// noteClocks states which clocks of endpoints differ from the clock of this host.
func (e *Engine) noteClocks() {
	for _, endpoint := range e.endpoints {
		if endpoint.ClockDiffers() {
			e.said.Lasts(event.ClockDiffers, event.ID{endpoint.Address}, func() event.Details {
				return event.Details{Fields: []any{"endpoint", endpoint.Address, "ahead_seconds", endpoint.ClockAhead}}
			})
		}
	}
	e.said.Rest(event.ClockDiffers, nil)
}

// noteJournal states whether the journal takes records. Only a start of the agent ends that it does not, but a standby can follow the journal again.
func (e *Engine) noteJournal() {
	err := e.opts.Journal.Healthy()
	reason := string(journal.FaultOf(err))
	e.said.Is(event.JournalFailed, err != nil, event.ID{reason}, func() event.Details {
		return event.Details{Fields: []any{"reason", reason, "error", err}}
	}, nil)
}

// readRoot notes whether the trusted root has expired, so that no new signature can be verified, and whether a newer root has replaced it.
func (e *Engine) readRoot(now time.Time) {
	end := e.source.RootExpires
	e.source.RootExpired = !end.IsZero() && end.Before(now)
	e.said.Is(event.RootExpired, e.source.RootExpired, event.ID{}, func() event.Details {
		return event.Details{Fields: []any{"expired", end}}
	}, func(event.ID) event.Details { return event.Details{Fields: []any{"expires", end}} })
}

// noteTrouble states which sources of readings fail.
func (e *Engine) noteTrouble(now observe.Trouble) {
	e.said.Is(event.VMListUnused, now.VMList != "", event.ID{now.VMList}, func() event.Details {
		return event.Details{Fields: []any{"path", e.opts.VMList, "reason", now.VMList}}
	}, nil)
	e.said.Is(event.HAUnread, now.HA != "", event.ID{now.HA}, func() event.Details { return event.Details{Fields: []any{"error", now.HA}} }, nil)
}
