package reconcile

import (
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/pause"
)

// readPause reads whether a person has paused the agent. It logs and journals each change once.
func (e *Engine) readPause() {
	note, paused := e.opts.Pause.Active(time.Now())
	was, wasPaused := e.paused, e.isPaused
	e.paused, e.isPaused = note, paused
	switch {
	case paused && (!wasPaused || note != was):
		e.log.Warn("paused, nothing is written to the cluster", event.Key, event.AgentPaused, "since", note.Since, "until", note.Until, "uid", note.UID, "reason", note.Reason, "problem", note.Problem)
		e.event(journal.Event{Name: "paused", Message: note.String()})
	case !paused && wasPaused:
		e.log.Info("resumed, the cluster may be written to again", event.Key, event.AgentResumed)
		e.event(journal.Event{Name: "resumed", Message: "ends the pause " + was.String()})
	}
}

// pauseChanged reports whether the agent was paused or resumed since the last cycle.
func (e *Engine) pauseChanged() bool {
	note, paused := e.opts.Pause.Active(time.Now())
	return paused != e.isPaused || note != e.paused
}

// pauseReport returns the pause for the report, nil if the agent is not paused.
func (e *Engine) pauseReport() *pause.Note {
	if !e.isPaused {
		return nil
	}
	note := e.paused
	return &note
}
