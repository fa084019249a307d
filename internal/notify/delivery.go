package notify

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Times of retries. A message that could not be sent for an hour after it was queued is lost, so that a receiver that answers again does not get a flood
// of old ones, and so that a receiver of a replaced config ends.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
	giveUp     = time.Hour
)

// permanentError means that another attempt would fail for the same reason.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// delivery sends the messages of one receiver, one after the other.
type delivery struct {
	receiver Receiver
	messages chan Message
	onResult func(Result)
	log      *slog.Logger
}

// run sends messages until the channel is closed and empty, or ctx ends.
func (d *delivery) run(ctx context.Context) {
	for m := range d.messages {
		if ctx.Err() != nil {
			d.onResult(Dropped)
			continue
		}
		d.deliver(ctx, m)
	}
}

// deliver sends a message, with retries.
func (d *delivery) deliver(ctx context.Context, m Message) {
	wait := firstRetry
	for {
		err := d.receiver.Send(ctx, m)
		if err == nil {
			d.onResult(Sent)
			return
		}
		var permanent *permanentError
		if errors.As(err, &permanent) || time.Since(m.queued)+wait > giveUp {
			d.onResult(Failed)
			d.log.WarnContext(ctx, "notification not sent", "receiver", d.receiver.Name, "error", err)
			return
		}
		if wait == firstRetry {
			d.log.WarnContext(ctx, "notification not sent yet", "receiver", d.receiver.Name, "error", err)
		}
		d.onResult(Retried)
		timer := time.NewTimer(wait/2 + rand.N(wait/2+1)) //nolint:gosec // jitter needs no secure numbers
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			d.onResult(Dropped)
			return
		}
		wait = min(2*wait, lastRetry)
	}
}
