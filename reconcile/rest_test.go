package reconcile

import (
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
)

// TestRest looks while a lane ends, and journals a step before: the look has the lane as working, or the record of its step, never neither.
func TestRest(t *testing.T) {
	t.Parallel()
	key, other := object.Guest(201), object.Guest(202)
	begun := journal.State{Open: []journal.OpenStep{{Begun: journal.Begun{Step: "s", VMID: 201}}}}
	ended := journal.State{Applied: map[int]journal.Applied{201: {VMID: 201, Booted: true}}}
	noon := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		works    bool          // when the look begins
		state    journal.State // then
		later    journal.State // at the next moment: after each look at one of the three
		turn     time.Time     // when the lane ended last
		has, new bool
	}{
		"nothing works":                 {false, ended, ended, noon.Add(-time.Minute), true, true},
		"the lane ends meanwhile":       {true, begun, ended, noon.Add(-time.Minute), false, false},
		"a step is open":                {false, begun, begun, noon.Add(-time.Minute), false, false},
		"the reading is of before":      {false, ended, ended, noon.Add(time.Minute), true, false},
		"the reading is of the same":    {false, ended, ended, noon, true, false},
		"the lane never worked on it":   {false, ended, ended, time.Time{}, true, true},
		"the lane begins and ends soon": {true, journal.State{}, ended, noon.Add(-time.Minute), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			works, state := test.works, test.state
			pass := func() { works, state = false, test.later }
			r := newRest(func() map[object.Key]bool {
				defer pass()
				if works {
					return map[object.Key]bool{key: true}
				}
				return map[object.Key]bool{}
			}, func() journal.State {
				defer pass()
				return state
			}, func() cluster.Snapshot {
				defer pass()
				return cluster.Snapshot{}
			}, func(of object.Key) time.Time {
				if of == key {
					return test.turn
				}
				return time.Time{}
			})
			if got := r.has(key); got != test.has {
				t.Errorf("got at rest %t, want %t", got, test.has)
			}
			if got := r.isNewer(key, noon); got != test.new {
				t.Errorf("got a newer reading %t, want %t", got, test.new)
			}
			if r.has(key) && len(r.state.Applied) == 0 {
				t.Error("got an object at rest without what its lane has journaled")
			}
			if !r.isNewer(other, noon) {
				t.Error("got another object at work, want it at rest")
			}
		})
	}
}
