package newest_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/newest"
)

// A worker that fails is called again with the newest value, after waits that double and that an offer does not shorten.
func TestRunTriesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		type call struct {
			value int
			at    time.Duration
		}
		var calls []call
		v := newest.New[int]()
		if v.Load() != nil {
			t.Error("got a value before the first offer")
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			v.Run(ctx, func(_ context.Context, value int) bool {
				calls = append(calls, call{value, time.Since(begin)})
				return value == 3
			})
			close(ended)
		}()
		v.Offer(1)
		synctest.Wait()
		v.Offer(2)
		time.Sleep(2 * time.Second)
		v.Offer(3)
		time.Sleep(time.Hour)
		stop()
		<-ended
		want := []call{{1, 0}, {2, time.Second}, {3, 3 * time.Second}}
		if !slices.Equal(calls, want) {
			t.Errorf("got calls %v, want %v", calls, want)
		}
	})
}

// Many offers are one call, and the longest wait is five minutes.
func TestRunTakesTheNewest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newest.New[int]()
		for i := range 100 {
			v.Offer(i)
		}
		calls := 0
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			v.Run(ctx, func(_ context.Context, value int) bool {
				if calls++; value != 99 {
					t.Errorf("got %d, want the newest value", value)
				}
				return false
			})
			close(ended)
		}()
		time.Sleep(24 * time.Hour)
		stop()
		<-ended
		if calls < 24*12-10 || calls > 24*12+10 {
			t.Errorf("got %d calls in a day, want one each five minutes", calls)
		}
	})
}
