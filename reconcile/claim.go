package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/writer"
)

// prepare asks whether the cluster may be written to, makes this process the writer of the cluster before work is offered, and reads the mark in the
// cluster again if it already is the writer. All of it runs beside the engine.
func (e *Engine) prepare(ctx context.Context) {
	e.errands.run(report.ComponentClaim, func() func() {
		ready := e.opts.Cluster.Ready(ctx)
		var claim error
		if ready == nil {
			claim = e.writer.Claim(ctx)
		}
		return func() {
			if ctx.Err() == nil {
				e.prepared(ctx, ready, claim)
			}
		}
	})
}

// prepared offers the work that waits if the cluster is ready and this process is its writer. If that has changed, a cycle follows, which reports it. While
// the claim waits, claimTimer causes the cycle in which the wait has ended.
func (e *Engine) prepared(ctx context.Context, ready, claim error) {
	before := e.basis.Load().NoWrites
	e.readyErr = ready
	e.claimErr, e.claimWaits = claim, false
	e.readWriter()
	e.proxmox = e.proxmoxReport()
	switch s := e.writer.State(); {
	case ready != nil:
	case claim != nil:
		e.log.WarnContext(ctx, "cluster not claimed, nothing is written to it", "error", claim)
		if errors.Is(claim, cluster.ErrDenied) {
			e.claimErr = fmt.Errorf("%w: give the token Pool.Audit and Pool.Allocate on /pool/%s; gitops-agent config check --cluster prints the commands", claim, writer.Pool)
		}
	case s.Standing == writer.Claimed:
		e.claimWaits = true
		e.claimTimer.Reset(time.Until(s.WaitEnds))
	}
	now, _ := e.writeStop()
	if now != before {
		e.setBasis(e.basis.Load().Waits)
	}
	if now == reason.WritesAllowed && e.writer.State().Standing == writer.Confirmed {
		e.offerWaiting(ctx)
	}
	if now != before && !e.errands.inline {
		e.cycle(ctx)
	}
}

// claimDue reports whether the cluster has to be claimed also without work: a person asked for it.
func (e *Engine) claimDue() bool {
	if !e.opts.TakeOver || e.basis.Load().NoWrites != reason.WritesAllowed {
		return false
	}
	s := e.writer.State()
	return s.TakeOver || s.Standing == writer.Claimed
}

// watchWriter reads the mark in the cluster again if nothing has read it for a resync, so that an agent without work notices that another one has claimed.
// It runs beside the engine, in place of prepare: work that begins to wait meanwhile is prepared afterwards. A failed reading changes nothing.
func (e *Engine) watchWriter(ctx context.Context) {
	s := e.writer.State()
	if e.errands.inline || e.closing || s.Standing == writer.Superseded || e.listErr != nil || s.ReadAt.IsZero() || time.Since(s.ReadAt) < e.opts.Resync {
		return
	}
	e.errands.run(report.ComponentClaim, func() func() {
		_, _ = e.writer.Read(ctx) // the writer keeps what it learns
		return func() {
			switch {
			case ctx.Err() != nil:
			case e.writer.State().Standing == writer.Superseded:
				e.cycle(ctx)
			case len(e.waiting.work) > 0 || e.claimDue():
				e.prepare(ctx)
			}
		}
	})
}

// readWriter takes the state of the writer for this cycle.
func (e *Engine) readWriter() {
	now := e.writer.State()
	e.writerState = now
	superseded := now.Standing == writer.Superseded
	e.said.Is(event.AgentSuperseded, superseded, event.ID{}, func() event.Details {
		return event.Details{
			Fields: []any{"writer", now.Other.Number, "nonce", now.Other.Nonce, "own", now.Mark.Number},
			Note:   event.Note{Message: fmt.Sprintf("by writer %d %s", now.Other.Number, now.Other.Nonce)},
		}
	}, nil)
	e.said.Is(event.AgentClaimed, now.Mark != writer.Mark{} && !superseded, event.ID{now.Mark.Nonce, fmt.Sprint(now.Mark.Number)}, func() event.Details {
		return event.Details{Fields: []any{"writer", now.Mark.Number, "nonce", now.Mark.Nonce}}
	}, nil)
}

// supersededReason describes what a superseded agent reports: why, and what ends it.
func supersededReason(s writer.State) string {
	text := fmt.Sprintf("another agent has claimed this cluster as writer %d", s.Other.Number)
	if s.Mark.Number > 0 {
		text += fmt.Sprintf(" after this one, which was writer %d", s.Mark.Number)
	} else {
		text += ", and this state directory is new, restored or a copy"
	}
	return text + "; stop the other agent if it still runs, and then start this one with gitops-agent run --take-over"
}
