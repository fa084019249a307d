package reconcile

import (
	"testing"
	"time"
)

func TestFlapDamper(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		repairs int
		every   time.Duration
		after   time.Duration // from the last repair
		want    bool          // over the limit
	}{
		"untouched":                   {},
		"bursts_are_normal":           {repairs: 8},
		"one_more_is_flapping":        {repairs: 9, want: true},
		"it_leaks":                    {repairs: 9, after: flapLeak},
		"not_at_once":                 {repairs: 9, after: flapLeak - time.Second, want: true},
		"long_flapping_waits":         {repairs: 30, after: 20 * flapLeak, want: true},
		"long_flapping_ends":          {repairs: 30, after: 22 * flapLeak},
		"slow_drift_never_waits":      {repairs: 1000, every: flapLeak},
		"slightly_faster_drift_waits": {repairs: 1000, every: flapLeak - 2*time.Second, want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var h flapDamper
			now := start
			for i := range test.repairs {
				if i > 0 {
					now = now.Add(test.every)
				}
				h = h.add(now, 1)
			}
			if got := h.overLimit(now.Add(test.after)); got != test.want {
				t.Errorf("got over the limit %t at level %.2f, want %t", got, h.levelAt(now.Add(test.after)), test.want)
			}
		})
	}
}

// TestFlapDamperDoesNotGoBelowZero checks that a guest without drift for a day may be repaired as often as a guest that never drifted.
func TestFlapDamperDoesNotGoBelowZero(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h := flapDamper{}.add(start, 1)
	later := start.Add(24 * time.Hour)
	for range 9 {
		h = h.add(later, 1)
	}
	if !h.overLimit(later) {
		t.Errorf("got level %.2f after nine repairs at once, want it over the limit", h.levelAt(later))
	}
}
