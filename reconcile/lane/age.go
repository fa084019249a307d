package lane

import (
	"time"

	"gitops-agent/reconcile/journal"
)

// The lanes measure how long a step has been open with the monotonic clock of this process. The time of a record is the host's clock, which may step:
// compared with it, a step forward would end a wait too early, and a step back would prolong it by the whole step.

// noteBegin remembers when this process began a step.
func (w *Worker) noteBegin(step string) { w.begun.Store(step, time.Now()) }

// begunHere reports whether this process began the step.
func (w *Worker) begunHere(step string) bool {
	_, here := w.begun.Load(step)
	return here
}

// since returns when the last call of a step was sent at the latest: not before this process began the step, and not after an earlier process has
// ended, so at the start of this one.
func (w *Worker) since(step string) time.Time {
	if at, here := w.begun.Load(step); here {
		return at.(time.Time)
	}
	return w.started
}

// taskAge returns how long the task of a step has run. After a start of the agent it relies on the clock of the host, which decides only how long the
// lane waits for the task, and whether the task is reported.
func (w *Worker) taskAge(open journal.OpenStep, now time.Time) time.Duration {
	age := now.Sub(w.since(open.Step))
	if !w.begunHere(open.Step) {
		age = max(age, now.Sub(open.Time))
	}
	return age
}
