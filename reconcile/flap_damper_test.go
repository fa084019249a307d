package reconcile

import (
	"testing"
	"time"
)

func TestHeat(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		repairs int
		every   time.Duration
		after   time.Duration // from the last repair
		want    bool          // too hot
	}{
		"untouched":           {},
		"bursts_are_normal":   {repairs: 8},
		"one_more_is_a_fight": {repairs: 9, want: true},
		"it_cools":            {repairs: 9, after: flapDecay},
		"not_at_once":         {repairs: 9, after: flapDecay - time.Second, want: true},
		"a_long_fight_rests":  {repairs: 30, after: 20 * flapDecay, want: true},
		"and_ends":            {repairs: 30, after: 22 * flapDecay},
		"slow_drift_never":    {repairs: 1000, every: flapDecay},
		"a_bit_faster_does":   {repairs: 1000, every: flapDecay - 2*time.Second, want: true},
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
				t.Errorf("got too hot %t at %.2f degrees, want %t", got, h.now(now.Add(test.after)), test.want)
			}
		})
	}
}

// A guest that was quiet for long has no more repairs to its credit than one that never drifted.
func TestHeatDoesNotGoBelowZero(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h := flapDamper{}.add(start, 1)
	later := start.Add(24 * time.Hour)
	for range 9 {
		h = h.add(later, 1)
	}
	if !h.overLimit(later) {
		t.Errorf("got %.2f degrees after nine repairs at once, want too hot", h.now(later))
	}
}
