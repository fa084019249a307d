package epoch

import (
	"errors"
	"sync"
	"testing"
)

func TestCounter(t *testing.T) {
	var c Counter
	first := c.Now()
	if err := c.During(first, func() error { return nil }); err != nil {
		t.Errorf("got %v in the first epoch, want work to run", err)
	}
	if err := c.During(0, func() error { return nil }); !errors.Is(err, ErrSuperseded) {
		t.Errorf("got %v in epoch zero, want %v", err, ErrSuperseded)
	}
	if n, err := c.Advance(func() error { return errors.ErrUnsupported }); n != first || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got epoch %d, %v after a change that failed, want %d and its error", n, err, first)
	}
	second, err := c.Advance(func() error { return nil })
	if err != nil || second == first || second != c.Now() {
		t.Errorf("got epoch %d, %v, want a new one", second, err)
	}
	ran := false
	if err := c.During(first, func() error { ran = true; return nil }); !errors.Is(err, ErrSuperseded) || ran {
		t.Errorf("got %v and work run %t in an epoch that ended, want it refused", err, ran)
	}
}

// An owner that has not seen the newest epoch cannot end it.
func TestAdvanceFromAnOldEpoch(t *testing.T) {
	var c Counter
	old := c.Now()
	newest, _ := c.Advance(func() error { return nil })
	if got := c.AdvanceFrom(old); got != old || c.Now() != newest {
		t.Errorf("got %d, now %d, want %d to stay superseded and %d to last", got, c.Now(), old, newest)
	}
	if got := c.AdvanceFrom(newest); got == newest || got != c.Now() {
		t.Errorf("got %d, now %d, want a new epoch", got, c.Now())
	}
}

// No work of an old epoch runs after a change.
func TestNoWorkOverlapsAChange(t *testing.T) {
	var c Counter
	var wg sync.WaitGroup
	inForce := 0 // read by work under the counter's lock, written by changes
	for range 4 {
		wg.Go(func() {
			for range 500 {
				n := c.Now()
				_ = c.During(n, func() error {
					if before := inForce; before != int(n)-1 {
						t.Errorf("got revision %d in epoch %d", before, n)
					}
					return nil
				})
			}
		})
	}
	for range 200 {
		if _, err := c.Advance(func() error { inForce++; return nil }); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}
