package reconcile

import (
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// readPresence checks that the state directory is still the one that this process locked. It logs and journals each change once. The agent never makes
// the directory or its lock file again while it runs: another agent may use the new directory.
func (e *Engine) readPresence() {
	gone := e.opts.Journal.Present()
	was := e.gone
	e.gone = gone
	switch {
	case gone != nil && was == nil:
		e.log.Error("state directory lost, nothing is written to the cluster", event.Key, event.StateLost, "error", gone, "hint", reason.RestoreStateDirectory.Text)
	case gone == nil && was != nil:
		e.log.Info("state directory is back, the cluster may be written to again", event.Key, event.StateRestored)
		e.event(journal.Event{Name: "state-directory-back", Message: "after: " + was.Error()})
	}
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
