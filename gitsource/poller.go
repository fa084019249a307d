package gitsource

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"
)

// hintSpacing is the least time between two polls, however many hints come: a webhook may be called by anybody.
const hintSpacing = time.Second

// A Poller says when to fetch. The zero value polls every 30 s, give or take a tenth.
type Poller struct {
	Interval time.Duration   // between the end of a poll and the next; default 30 s
	Jitter   float64         // how far an interval may be off, as a fraction; default 0.1, negative means not at all
	Hint     <-chan struct{} // what arrives here means: poll now. A buffer of one keeps senders from waiting
}

// maxDoublings bounds how far failures stretch the interval: to eight times its length.
const maxDoublings = 3

// Run calls poll at once and then whenever an interval is over or a hint came. A hint that comes while poll runs makes
// it run again. Each poll that fails in a row doubles the interval, up to eightfold. Run returns when ctx is done and poll
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
			sleep(ctx, hintSpacing-time.Since(begun))
		}
		timer.Stop()
	}
}

// next returns the interval until the next poll, evenly spread around Interval so that many agents do not meet.
func (p Poller) next() time.Duration {
	interval := cmp.Or(p.Interval, 30*time.Second)
	jitter := min(max(cmp.Or(p.Jitter, 0.1), 0), 1)
	off := (2*rand.Float64() - 1) * jitter // #nosec G404 -- it spreads load, it keeps no secret
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
