package status

import (
	"sync"
	"time"
)

// tokenBucket limits a rate: it holds up to size tokens, and gains one token in each refill interval. It is safe for concurrent use.
type tokenBucket struct {
	mu     sync.Mutex
	size   int
	refill time.Duration
	full   time.Time // when the bucket is, or was, full again
}

func newTokenBucket(size int, refill time.Duration) *tokenBucket {
	return &tokenBucket{size: size, refill: refill}
}

// take removes one token and reports whether the bucket contained one at the time now.
func (b *tokenBucket) take(now time.Time) bool {
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
