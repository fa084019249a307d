package reconcile

import (
	"errors"
	"math/rand/v2"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/volumes"
)

// Bounds of the wait between two tries of a guest.
const (
	firstRetry    = 5 * time.Second
	lastRetry     = 5 * time.Minute
	hangingRetry  = time.Minute      // between two looks at a task that hangs
	terminalRetry = 30 * time.Minute // after an error that only a person or a new revision removes
	heavyTries    = 3                // tries of a failed move or restart, of a call that Proxmox refuses as invalid, and of the removal of an object in use, before terminalRetry
	waveTries     = 5                // tries, in a bit more than a minute, before guests of higher waves no longer wait
)

// backoff is the time after failures in which a guest is not tried again.
type backoff struct {
	failures int // in a row
	until    time.Time
}

// after returns the backoff after one more failure: exponential with jitter. It is long for an error that no repetition removes, and for an
// operation that is heavy on the guest.
func (b backoff) after(err error, op cluster.Op, now time.Time) backoff {
	if lane.HangingTask(err) != nil {
		return backoff{until: now.Add(hangingRetry)}
	}
	b.failures++
	wait := min(firstRetry<<min(b.failures-1, 10), lastRetry)
	if isTerminal(err) || (likelyRefusedAgain(err, op) || cluster.IsUsed(err)) && b.failures > heavyTries {
		wait = terminalRetry
	}
	var ran *cluster.TaskError
	if op.IsHeavy() && errors.As(err, &ran) {
		wait = lastRetry // the failed task interrupted the guest or loaded its node
		if b.failures > heavyTries {
			wait = terminalRetry
		}
	}
	if errors.Is(err, cluster.ErrConflict) && b.failures == 1 {
		wait = 0 // the guest was edited: read it again at once
	}
	jitter := time.Duration(rand.Int64N(int64(wait)/5 + 1)) //nolint:gosec // spreads load, not used for security
	b.until = now.Add(wait + jitter)
	return b
}

// isTerminal reports whether only a person or a new revision can remove the error.
func isTerminal(err error) bool {
	if _, _, refused := volumes.Refusal(err); refused {
		return false // the next try costs a reading of the guests, and shows at once that the reason is gone
	}
	return errors.Is(err, cluster.ErrDenied) || errors.Is(err, lane.ErrRestartIneffective)
}

// likelyRefusedAgain reports whether Proxmox would probably refuse the same call again. What the call lacks may still appear, so a few tries come
// first: a clone that is about to be removed, or a storage of another machine. Therefore the result is always false for a start.
func likelyRefusedAgain(err error, op cluster.Op) bool {
	return errors.Is(err, cluster.ErrInvalid) && op.Reaches() != guest.StatusRunning
}

// over reports whether the guest may be tried again.
func (b backoff) over(now time.Time) bool { return !now.Before(b.until) }
