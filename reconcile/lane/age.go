package lane

import (
	"context"
	"time"

	"gitops-agent/reconcile/journal"
)

// The lanes measure how long a step has been open with the monotonic clock of this process, and add what earlier processes measured and journaled. The
// time of a record is the host's clock, which may step: compared with it, a step forward would end a wait too early, and a step back would prolong it by
// the whole step. The time between two processes counts only as far as the uptime of the step's node shows it, so a wait is at least as long as it says.

// begunStep is a step that this process began.
type begunStep struct {
	sent    time.Time // when its last call was sent at the latest
	sending bool      // another call of it may still be sent
}

// noteBegin remembers that this process began a step.
func (w *Worker) noteBegin(step string) {
	w.begun.Store(step, begunStep{sent: time.Now(), sending: true})
}

// noteSent remembers that a call of a step is sent now, after its waits.
func (w *Worker) noteSent(step string) { w.noteBegin(step) }

// noteReturned remembers that this process sends no further call of a step that it began.
func (w *Worker) noteReturned(step string) {
	if begun, here := w.begunStep(step); here {
		w.begun.Store(step, begunStep{sent: begun.sent})
	}
}

func (w *Worker) begunStep(step string) (begunStep, bool) {
	begun, here := w.begun.Load(step)
	if !here {
		return begunStep{}, false
	}
	return begun.(begunStep), true
}

// begunHere reports whether this process began the step.
func (w *Worker) begunHere(step string) bool {
	_, here := w.begunStep(step)
	return here
}

// since returns when the last call of a step was sent at the latest: when this process sent it, or before an earlier process ended, so before the
// start of this one, by as much as earlier processes have waited.
func (w *Worker) since(step string) time.Time {
	if begun, here := w.begunStep(step); here {
		return begun.sent
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.started.Add(-w.waited[step])
}

// waitedBefore returns how long earlier processes have waited for the open steps of a journal, by id.
func waitedBefore(j *journal.Journal) map[string]time.Duration {
	waited := make(map[string]time.Duration)
	if j == nil {
		return waited
	}
	for _, open := range j.State().Open {
		waited[open.Step] = open.Waited
	}
	return waited
}

// NoteWaits journals how long each open step has been open, if that is at least by more than its last record says, and the first reading of its node's
// uptime. The waits of processes add up by these records, however often the agent is restarted. It skips a step of which a call may still be sent: the wait
// for that call has not begun.
func (w *Worker) NoteWaits(ctx context.Context, by time.Duration) error {
	var records []journal.Body
	for _, open := range w.journal.State().Open {
		if begun, here := w.begunStep(open.Step); here && begun.sending && partial(open) {
			continue
		}
		waited, clock := time.Since(w.since(open.Step)), w.lastClock(open)
		if waited-open.Waited >= by || open.Uptime == 0 && clock.uptime > 0 {
			records = append(records, journal.Waited{
				Step: open.Step, Seconds: int64(waited / time.Second), Uptime: int64(clock.uptime / time.Second), UptimeAt: int64(clock.after / time.Second),
			})
		}
	}
	if len(records) == 0 {
		return nil
	}
	return w.append(ctx, records...)
}
