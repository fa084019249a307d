package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/writer"
)

// claim makes this process the writer of the cluster before work is offered, and reads the mark in the cluster again if it already is the writer. It
// returns whether work may be offered now. While the claim waits, it does not block: claimTimer causes the cycle in which the wait has ended.
func (e *Engine) claim(ctx context.Context) bool {
	e.claimErr, e.claimWaits = e.writer.Claim(ctx), false
	e.readWriter()
	switch s := e.writer.State(); {
	case e.claimErr != nil:
		e.log.WarnContext(ctx, "cluster not claimed, nothing is written to it", "error", e.claimErr)
		if errors.Is(e.claimErr, cluster.ErrDenied) {
			e.claimErr = fmt.Errorf("%w: give the token Pool.Audit and Pool.Allocate on /pool/%s; gitops-agent config check --cluster prints the commands", e.claimErr, writer.Pool)
		}
	case s.Standing == writer.Confirmed:
		return true
	case s.Standing == writer.Claimed:
		e.claimWaits = true
		e.claimTimer.Reset(time.Until(s.WaitEnds))
		return false
	}
	e.setBasis(e.basis.Load().Waits)
	return false
}

// claimDue reports whether the cluster has to be claimed also without work: a person asked for it.
func (e *Engine) claimDue() bool {
	if !e.opts.TakeOver || e.basis.Load().NoWrites != gate.WritesAllowed {
		return false
	}
	s := e.writer.State()
	return s.TakeOver || s.Standing == writer.Claimed
}

// readWriter logs and journals each change of the writer once.
func (e *Engine) readWriter() {
	was, now := e.writerState, e.writer.State()
	e.writerState = now
	switch {
	case now.Standing == writer.Superseded && was.Standing != writer.Superseded:
		e.log.Error("superseded by another agent, nothing is written to the cluster", event.Key, event.AgentSuperseded, "writer", now.Other.Number, "nonce", now.Other.Nonce, "own", now.Mark.Number)
		e.event(journal.Event{Name: "superseded", Message: fmt.Sprintf("by writer %d %s", now.Other.Number, now.Other.Nonce)})
	case now.Mark != was.Mark:
		e.log.Info("cluster claimed", event.Key, event.AgentClaimed, "writer", now.Mark.Number, "nonce", now.Mark.Nonce)
	}
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
