package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/reconcile/cluster"
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
			claim = e.lease.writer.Claim(ctx)
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
	e.readings.readyErr = ready
	e.lease.claimErr, e.lease.claimWaits = claim, false
	e.lease.readWriter()
	e.readings.proxmox = e.readings.state()
	switch s := e.lease.writer.State(); {
	case ready != nil:
	case claim != nil:
		e.log.WarnContext(ctx, "cluster not claimed, nothing is written to it", "error", claim)
		if errors.Is(claim, cluster.ErrDenied) {
			e.lease.claimErr = fmt.Errorf("%w: give the token Pool.Audit and Pool.Allocate on /pool/%s; gitops-agent config check --cluster prints the commands", claim, writer.Pool)
		}
	case s.Standing == writer.Claimed:
		e.lease.claimWaits = true
		e.lease.claimTimer.Reset(time.Until(s.WaitEnds))
	}
	now, _ := e.lease.Plan(&e.revision, &e.readings)
	if now != before {
		e.setBasis(e.basis.Load().Waits)
	}
	if now == reason.WritesAllowed && e.lease.writer.State().Standing == writer.Confirmed {
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
	s := e.lease.writer.State()
	return s.TakeOver || s.Standing == writer.Claimed
}

// watchWriter reads the mark in the cluster again if nothing has read it for a resync, so that an agent without work notices that another one has claimed.
// It runs beside the engine, in place of prepare: work that begins to wait meanwhile is prepared afterwards. A failed reading changes nothing.
func (e *Engine) watchWriter(ctx context.Context) {
	s := e.lease.writer.State()
	if e.errands.inline || e.lease.closing || s.Standing == writer.Superseded || e.readings.listErr != nil || s.ReadAt.IsZero() || time.Since(s.ReadAt) < e.opts.Resync {
		return
	}
	e.errands.run(report.ComponentClaim, func() func() {
		_, _ = e.lease.writer.Read(ctx) // the writer keeps what it learns
		return func() {
			switch {
			case ctx.Err() != nil:
			case e.lease.writer.State().Standing == writer.Superseded:
				e.cycle(ctx)
			case len(e.lease.waiting.work) > 0 || e.claimDue():
				e.prepare(ctx)
			}
		}
	})
}
