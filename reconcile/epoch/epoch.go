// Package epoch numbers the periods in which one revision is in force and the cluster may be written to.
//
// A new epoch begins when a revision is accepted, when the revision in force no longer verifies, and when writing stops or is allowed again.
// Every step carries the epoch that it was planned in. A step begins only while that epoch lasts, so a lane never acts on a superseded
// revision: it compares one number. The package imports nothing of this module.
package epoch

import (
	"errors"
	"sync"
)

// ErrSuperseded is returned for work that was planned in an epoch that has ended.
var ErrSuperseded = errors.New("planned under a revision that is no longer in force")

// Number identifies an epoch. The zero Number never lasts: no work can begin in it.
type Number uint64

// Counter holds the present epoch. The zero Counter is ready to use, and its first epoch is 1. It is safe for concurrent use.
type Counter struct {
	mu   sync.RWMutex
	last Number // epochs that began after the first one
}

// Now returns the present epoch.
func (c *Counter) Now() Number {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.last + 1
}

// Advance runs change while no work begins, and then begins a new epoch. If change fails, the present epoch lasts.
func (c *Counter) Advance(change func() error) (Number, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := change(); err != nil {
		return c.last + 1, err
	}
	c.last++
	return c.last + 1, nil
}

// AdvanceFrom begins a new epoch after from, and returns it. If from has ended already, it returns from, which stays superseded: the caller
// has not seen yet what ended it.
func (c *Counter) AdvanceFrom(from Number) Number {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last+1 != from {
		return from
	}
	c.last++
	return c.last + 1
}

// Change runs change while no work begins, if from is the present epoch, and then begins a new epoch. If from has ended, it returns from and
// ErrSuperseded. If change fails, the present epoch lasts.
func (c *Counter) Change(from Number, change func() error) (Number, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last+1 != from {
		return from, ErrSuperseded
	}
	if err := change(); err != nil {
		return from, err
	}
	c.last++
	return c.last + 1, nil
}

// During runs work while the epoch n cannot end. It returns ErrSuperseded without running work if n has ended.
func (c *Counter) During(n Number, work func() error) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.last+1 != n {
		return ErrSuperseded
	}
	return work()
}
