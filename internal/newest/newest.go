// Package newest hands the newest of many values from a producer that must not wait to a worker that can fail and tries again.
package newest

import (
	"context"
	"sync/atomic"
	"time"
)

// Times of retries.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// Value is the newest value. Create it with New.
type Value[T any] struct {
	newest  atomic.Pointer[T]
	changed chan struct{}
}

// New returns a Value that has nothing yet.
func New[T any]() *Value[T] { return &Value[T]{changed: make(chan struct{}, 1)} }

// Offer replaces the value, and does not wait. Values that no worker has taken are lost.
func (v *Value[T]) Offer(value T) {
	v.newest.Store(&value)
	select {
	case v.changed <- struct{}{}:
	default: // Run has not looked yet, and will see the newest one
	}
}

// Load returns the newest value, nil before there is one.
func (v *Value[T]) Load() *T { return v.newest.Load() }

// Run calls work with the newest value after each Offer, until ctx ends. If work returns false, Run calls it again after a wait that doubles with each failure,
// up to five minutes; an Offer does not shorten the wait.
func (v *Value[T]) Run(ctx context.Context, work func(ctx context.Context, value T) bool) {
	wait := firstRetry
	var retry <-chan time.Time
	for {
		select {
		case <-v.changed:
			if retry != nil {
				continue
			}
		case <-retry:
		case <-ctx.Done():
			return
		}
		if retry = nil; work(ctx, *v.newest.Load()) {
			wait = firstRetry
			continue
		}
		retry = time.After(wait)
		wait = min(2*wait, lastRetry)
	}
}
