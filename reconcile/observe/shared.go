package observe

import (
	"context"
	"sync/atomic"
	"time"
)

// Shared reads something of the cluster for several callers. Callers that wait for it at the same time share one reading.
type Shared[T any] struct {
	read  func(ctx context.Context) (T, error)
	begun atomic.Uint64 // readings that have begun

	turn    chan struct{} // holds an element during a reading
	shown   uint64        // the number of the newest reading that succeeded, 0 before the first one
	value   T             // of that reading
	beganAt time.Time     // of that reading
}

// NewShared returns a Shared that reads with a function.
func NewShared[T any](read func(ctx context.Context) (T, error)) *Shared[T] {
	return &Shared[T]{read: read, turn: make(chan struct{}, 1)}
}

// Now returns a reading that began after the call.
func (s *Shared[T]) Now(ctx context.Context) (T, error) { return s.after(ctx, nil) }

// Since returns a reading that began after a time. If there is none, it returns one that begins after the call.
func (s *Shared[T]) Since(ctx context.Context, since time.Time) (T, error) {
	return s.after(ctx, &since)
}

func (s *Shared[T]) after(ctx context.Context, since *time.Time) (value T, err error) {
	before := s.begun.Load()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return value, ctx.Err()
	}
	if s.shown > before || s.shown > 0 && since != nil && s.beganAt.After(*since) {
		return s.value, nil
	}
	number, began := s.begun.Add(1), time.Now()
	if value, err = s.read(ctx); err != nil {
		return value, err
	}
	s.shown, s.value, s.beganAt = number, value, began
	return value, nil
}
