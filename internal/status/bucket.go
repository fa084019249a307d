package status

import (
	"sync"
	"time"
)

// bucket lets a burst through and then one take each refill. It is safe for concurrent use.
type bucket struct {
	mu     sync.Mutex
	size   int
	refill time.Duration
	full   time.Time // when the bucket is, or was, full again
}

func newBucket(size int, refill time.Duration) *bucket {
	return &bucket{size: size, refill: refill}
}

// take reports whether there was something left at the moment now, and takes it.
func (b *bucket) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	full := b.full
	if full.Before(now) {
		full = now
	}
	if full.Sub(now) > time.Duration(b.size-1)*b.refill {
		return false
	}
	b.full = full.Add(b.refill)
	return true
}
