package reconcile

import (
	"time"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/pause"
)

// readPause reads whether a person has paused the agent.
func (e *Engine) readPause() {
	note, paused := e.opts.Pause.Active(time.Now())
	e.paused, e.isPaused = note, paused
	var id event.ID
	if paused {
		id = event.ID{note.String(), note.Problem}
	}
	e.said.Is(event.AgentPaused, paused, id, func() event.Details {
		return event.Details{
			Fields: []any{"since", note.Since, "until", note.Until, "uid", note.UID, "reason", note.Reason, "problem", note.Problem},
			Note:   event.Note{Message: note.String()},
		}
	}, func(was event.ID) event.Details {
		return event.Details{Note: event.Note{Message: "ends the pause " + was[0]}}
	})
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
