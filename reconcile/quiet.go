package reconcile

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/queue"
)

// An agent that has taken over leaves objects with open steps alone until Options.Quiet: the agent before may have been stopped between the last check of a
// call and the call itself, and sends the call when it goes on. Afterwards the steps are settled as after a crash.

// quietTimer returns a timer that fires when the time is over. Without open steps, or without such a time, it never fires.
func (e *Engine) quietTimer(ctx context.Context) *time.Timer {
	left := time.Until(e.opts.Quiet)
	open := len(e.opts.Journal.State().Open)
	timer := time.NewTimer(max(left, 0))
	if left <= 0 || open == 0 {
		timer.Stop()
		return timer
	}
	e.log.InfoContext(ctx, "guests with open steps of the agent before are left alone", "steps", open, "for", left.Round(time.Second))
	return timer
}

// leaveAlone removes the work on objects that an open step concerns.
func (e *Engine) leaveAlone(work map[object.Key]queue.Work, state journal.State, now time.Time) {
	if !now.Before(e.opts.Quiet) {
		return
	}
	concerned := map[object.Key]bool{}
	for _, open := range state.Open {
		concerned[open.Key()], concerned[cmp.Or(object.Guest(open.TaskVMID), open.Key())] = true, true
	}
	for key, w := range work {
		if concerned[key] || slices.ContainsFunc(w.Holds, func(held object.Key) bool { return concerned[held] }) {
			delete(work, key)
		}
	}
}
