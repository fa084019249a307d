package gitsource

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"
)

// minHintInterval is the least time between two polls if hints arrive. It bounds the polls because any host may call a
// webhook.
const minHintInterval = time.Second

// A Poller decides when to poll. The zero value polls every 30 s with a jitter of 10 %.
type Poller struct {
	Interval time.Duration   // between the end of a poll and the next poll; default 30 s
	Jitter   float64         // largest random deviation of an interval, as a fraction of it; default 0.1, negative means none
	Hint     <-chan struct{} // a value means: poll now. With a buffer of one, senders do not wait
}

// maxDoublings bounds the backoff: failures stretch the interval to at most eight times its length.
const maxDoublings = 3

// Run calls poll at once, and again after each interval and each hint. A hint that arrives while poll runs starts another
// poll. Each consecutive failure doubles the interval, up to eight times its length. Run returns when ctx is done and poll
// has returned.
func (p Poller) Run(ctx context.Context, poll func(context.Context) error) {
	failures := 0
	for ctx.Err() == nil {
		begun := time.Now()
		if err := poll(ctx); err != nil {
			failures = min(failures+1, maxDoublings)
		} else {
			failures = 0
		}
		timer := time.NewTimer(p.next() << failures)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-p.Hint:
			sleep(ctx, minHintInterval-time.Since(begun))
		}
		timer.Stop()
	}
}

// next returns the interval until the next poll. The intervals are spread evenly around Interval, so that many agents do not
// poll at the same time.
func (p Poller) next() time.Duration {
	interval := cmp.Or(p.Interval, 30*time.Second)
	jitter := min(max(cmp.Or(p.Jitter, 0.1), 0), 1)
	off := (2*rand.Float64() - 1) * jitter // #nosec G404 -- it only spreads load and protects no secret
	return interval + time.Duration(off*float64(interval))
}

// sleep waits for d or until ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
