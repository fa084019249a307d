package reconcile

import (
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/reason"
)

// readPresence checks that the state directory is still the one that this process locked. The agent never makes
// the directory or its lock file again while it runs: another agent may use the new directory.
func (e *Engine) readPresence() {
	was := e.gone
	e.gone = e.opts.Journal.Present()
	e.said.Is(event.StateLost, e.gone != nil, event.ID{}, func() event.Details {
		return event.Details{Fields: []any{"error", e.gone, "hint", reason.RestoreStateDirectory.Text}}
	}, func(event.ID) event.Details { return event.Details{Note: event.Note{Message: "after: " + was.Error()}} })
}

// presenceChanged reports whether the state directory was removed or came back since the last cycle.
func (e *Engine) presenceChanged() bool {
	return (e.opts.Journal.Present() == nil) != (e.gone == nil)
}

// mayCall returns why nothing may be sent to the cluster at this moment, apart from what the engine knows. It is safe for concurrent use.
func (e *Engine) mayCall() error {
	if err := e.opts.Journal.Present(); err != nil {
		return err
	}
	return e.opts.Pause.Check()
}
