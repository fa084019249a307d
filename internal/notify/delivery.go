package notify

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Times of retries. A message that could not be sent for an hour after it was queued is lost, so that a receiver that answers again does not get a flood
// of old ones, and so that a receiver of a replaced config ends.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
	giveUp     = time.Hour
)

// permanentError means that the receiver did not take a message, and that another attempt would fail for the same reason.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// untakenError means that the receiver did not take a message. After any other error it may have taken it.
type untakenError struct{ err error }

func (e *untakenError) Error() string { return e.err.Error() }
func (e *untakenError) Unwrap() error { return e.err }

// delivery sends the messages of one receiver, one at a time and in their order, as far as they can be sent: a message that fails waits for its next attempt,
// and those after it do not wait for it.
type delivery struct {
	receiver Receiver
	onResult func(Result)
	onChange func() // is called after notices changed
	log      *slog.Logger

	mu      sync.Mutex
	waiting []*queued // in the order in which they came
	added   uint64
	closed  bool
	changed chan struct{} // has an element after a change of the two

	checked *queued // the message that is sent next, since the oldest one that failed was tried before it; nil if none was
}

// queued is a message that waits.
type queued struct {
	Message

	seq       uint64        // its place in the order
	due       time.Time     // of the next attempt; zero is at once
	wait      time.Duration // after the last attempt; 0 before the first one
	overtaken bool          // a later message was sent, so it fails for a reason of its own
}

func newDelivery(r Receiver, onResult func(Result), onChange func(), log *slog.Logger) *delivery {
	return &delivery{receiver: r, onResult: onResult, onChange: onChange, log: log, changed: make(chan struct{}, 1)}
}

// add adds a message. If the queue is full, the oldest message that has failed is dropped, or this one if none has.
func (d *delivery) add(m Message) {
	d.mu.Lock()
	isFull := len(d.waiting) == maxQueued
	if oldest := slices.IndexFunc(d.waiting, (*queued).hasFailed); isFull && oldest >= 0 {
		d.waiting[oldest].become(late, false)
		d.waiting, isFull = slices.Delete(d.waiting, oldest, oldest+1), false
		d.onResult(Dropped)
	}
	if isFull {
		m.become(late, false)
		d.onResult(Dropped)
	} else {
		d.added++
		m.attempt = &attempt{}
		d.waiting = append(d.waiting, &queued{Message: m, seq: d.added})
	}
	d.mu.Unlock()
	d.wake()
}

// close lets run end when nothing waits any more.
func (d *delivery) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.wake()
}

func (d *delivery) wake() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

func (q *queued) hasFailed() bool { return q.wait > 0 }

// run sends messages until the delivery is closed and empty, or ctx ends.
func (d *delivery) run(ctx context.Context) {
	for ctx.Err() == nil {
		q, wait, ended := d.next(time.Now())
		if ended {
			return
		}
		if q != nil {
			d.attempt(ctx, q)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-d.changed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, q := range d.waiting {
		q.become(late, false)
		d.onResult(Dropped)
	}
	d.waiting = nil
}

// next takes the message to send now: the oldest one that is to be tried at once, or else the oldest one whose next attempt is due. Before it, the oldest message
// that failed is tried once more, because the receiver may answer again, and messages arrive in their order then. Without a message it returns how long to wait.
func (d *delivery) next(now time.Time) (take *queued, wait time.Duration, ended bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := slices.IndexFunc(d.waiting, func(q *queued) bool { return q.due.IsZero() })
	if at < 0 {
		at = slices.IndexFunc(d.waiting, func(q *queued) bool { return !q.due.After(now) })
	}
	if at < 0 {
		wait = lastRetry
		for _, q := range d.waiting {
			wait = min(wait, q.due.Sub(now))
		}
		return nil, wait, d.closed && len(d.waiting) == 0
	}
	before := slices.IndexFunc(d.waiting[:at], func(q *queued) bool { return q.hasFailed() && !q.overtaken })
	if before >= 0 && d.checked != d.waiting[at] {
		d.checked, at = d.waiting[at], before
	} else {
		d.checked = nil
	}
	take = d.waiting[at]
	d.waiting = slices.Delete(d.waiting, at, at+1)
	return take, 0, false
}

// attempt sends what of a message is still to be sent. If it fails for a reason that may pass, the message waits again.
func (d *delivery) attempt(ctx context.Context, q *queued) {
	q.Events = slices.DeleteFunc(q.Events, func(e Event) bool { return !e.notice.leave() })
	if len(q.Events) == 0 {
		return
	}
	defer d.onChange()
	err := d.receiver.Send(ctx, q.Message)
	if err == nil {
		q.become(taken, false)
		d.onResult(Sent)
		d.passed(q)
		return
	}
	isFirst := !q.hasFailed()
	wait := min(max(2*q.wait, firstRetry), lastRetry)
	var permanent *permanentError
	var untaken *untakenError
	isPermanent := errors.As(err, &permanent)
	isUncertain := !isPermanent && !errors.As(err, &untaken)
	if isLate := time.Since(q.queued)+wait > giveUp; isPermanent || isLate {
		state := late
		if isPermanent {
			state = refused
		}
		q.become(state, isUncertain)
		d.onResult(Failed)
		d.log.WarnContext(ctx, "notification not sent", "receiver", d.receiver.Name, "error", err)
		return
	}
	if isFirst {
		d.log.WarnContext(ctx, "notification not sent yet", "receiver", d.receiver.Name, "error", err)
	}
	d.onResult(Retried)
	if q.attempt.result == nil { // otherwise the send still runs
		q.become(waiting, isUncertain)
	}
	q.wait, q.due = wait, time.Now().Add(wait/2+rand.N(wait/2+1)) //nolint:gosec // jitter needs no secure numbers
	d.mu.Lock()
	defer d.mu.Unlock()
	later := slices.IndexFunc(d.waiting, func(other *queued) bool { return other.seq > q.seq })
	if later < 0 {
		later = len(d.waiting)
	}
	d.waiting = slices.Insert(d.waiting, later, q)
}

// passed notes that a message was sent: those before it fail for a reason of their own, and those that failed after it are tried at once.
func (d *delivery) passed(sent *queued) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, q := range d.waiting {
		switch {
		case q.seq < sent.seq:
			q.overtaken = true
		case q.hasFailed() && !q.overtaken:
			q.due = time.Time{}
		}
	}
}
