package gitsource

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// polls runs p until script returns. It returns when the polls began, in seconds since the start.
func polls(t *testing.T, p Poller, takes time.Duration, script func()) []float64 {
	t.Helper()
	start := time.Now()
	var at []float64
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Run(ctx, func(context.Context) error {
			at = append(at, time.Since(start).Seconds())
			time.Sleep(takes)
			return nil
		})
	}()
	script()
	cancel()
	<-done
	return at
}

func TestPollerInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := polls(t, Poller{Jitter: -1}, 0, func() { time.Sleep(65 * time.Second) })
		if diff := cmp.Diff([]float64{0, 30, 60}, got); diff != "" {
			t.Errorf("want then got:\n%s", diff)
		}
	})
}

func TestPollerCountsFromTheEndOfAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Poller{Interval: 10 * time.Second, Jitter: -1}
		got := polls(t, p, 7*time.Second, func() { time.Sleep(35 * time.Second) })
		if diff := cmp.Diff([]float64{0, 17, 34}, got); diff != "" {
			t.Errorf("want then got:\n%s", diff)
		}
	})
}

func TestPollerJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Poller{Interval: 100 * time.Second, Jitter: 0.2}
		at := polls(t, p, 0, func() { time.Sleep(time.Hour) })
		least, most := 1000.0, 0.0
		for i := 1; i < len(at); i++ {
			least, most = min(least, at[i]-at[i-1]), max(most, at[i]-at[i-1])
		}
		if least < 80 || most > 120 || most-least < 1 {
			t.Errorf("got intervals from %.1f to %.1f s, want them spread over 80 to 120", least, most)
		}
	})
}

func TestPollerHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hint := make(chan struct{}, 1)
		p := Poller{Jitter: -1, Hint: hint}
		got := polls(t, p, 0, func() {
			time.Sleep(10 * time.Second)
			hint <- struct{}{} // at 10
			time.Sleep(100 * time.Millisecond)
			hint <- struct{}{} // too soon: at 11
			time.Sleep(32 * time.Second)
		})
		if diff := cmp.Diff([]float64{0, 10, 11, 41}, got); diff != "" {
			t.Errorf("want then got:\n%s", diff)
		}
	})
}

func TestPollerRemembersAHintDuringAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hint := make(chan struct{}, 1)
		got := polls(t, Poller{Jitter: -1, Hint: hint}, 5*time.Second, func() {
			time.Sleep(time.Second)
			hint <- struct{}{}
			time.Sleep(10 * time.Second)
		})
		if diff := cmp.Diff([]float64{0, 5}, got); diff != "" {
			t.Errorf("want then got:\n%s", diff)
		}
	})
}

func TestPollerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		Poller{}.Run(ctx, func(context.Context) error { t.Error("polled after the end"); return nil })
	})
}

func TestPollerBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []float64
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			Poller{Interval: 10 * time.Second, Jitter: -1}.Run(ctx, func(context.Context) error {
				at = append(at, time.Since(start).Seconds())
				if len(at) > 5 {
					return nil
				}
				return errors.New("no answer")
			})
		}()
		time.Sleep(325 * time.Second)
		cancel()
		<-done
		if diff := cmp.Diff([]float64{0, 20, 60, 140, 220, 300, 310, 320}, at); diff != "" {
			t.Errorf("want then got:\n%s", diff)
		}
	})
}
