package reconcile

import (
	"errors"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/lane"
	"math/rand/v2"
	"time"
)

// Bounds of the wait before a guest is tried again.
const (
	firstRetry    = 5 * time.Second
	lastRetry     = 5 * time.Minute
	terminalRetry = 30 * time.Minute // for what only a person or a new revision can mend
	heavyTries    = 3                // of a move or restart whose task failed, and of what is refused as it stands, before it is left to a person
	patientTries  = 5                // of a guest, a bit more than a minute of them, before guests of higher waves go ahead
)

// backoff is how long a guest is left alone after trouble.
type backoff struct {
	failures int
	until    time.Time
}

// after returns the backoff that follows from one more failure: exponential with jitter, and long for an error that no repetition mends and
// for work that is heavy on the guest.
func (b backoff) after(err error, op cluster.Op, now time.Time) backoff {
	b.failures++
	wait := min(firstRetry<<min(b.failures-1, 10), lastRetry)
	if isTerminal(err) || hopeless(err, op) && b.failures > heavyTries {
		wait = terminalRetry
	}
	var ran *cluster.TaskError
	if op.IsHeavy() && errors.As(err, &ran) {
		wait = lastRetry // the guest, or its node, felt it
		if b.failures > heavyTries {
			wait = terminalRetry
		}
	}
	if errors.Is(err, cluster.ErrConflict) && b.failures == 1 {
		wait = 0 // somebody edited the guest: look again at once
	}
	jitter := time.Duration(rand.Int64N(int64(wait)/5 + 1)) //nolint:gosec // spreads load, guards nothing
	b.until = now.Add(wait + jitter)
	return b
}

// isTerminal reports whether only a person or a new revision can mend the trouble.
func isTerminal(err error) bool {
	return errors.Is(err, cluster.ErrDenied) || errors.Is(err, lane.ErrRestartIneffective)
}

// hopeless reports whether the same call would probably be refused again. What it misses, a clone that is about to go or a storage of
// another machine, may be about to change, so that a few tries come first; a start is never hopeless for that reason.
func hopeless(err error, op cluster.Op) bool {
	return errors.Is(err, cluster.ErrInvalid) && op.Reaches() != guest.StatusRunning
}

// over reports whether the guest may be tried again.
func (b backoff) over(now time.Time) bool { return !now.Before(b.until) }
