package reconcile

import (
	"maps"
	"slices"
	"testing"
	"time"

	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/queue"

	"github.com/google/go-cmp/cmp"
)

// A new leader leaves an object with an open step alone, and everything that needs the guest on which that step's task runs. Other guests proceed, and all
// of them when the time is over.
func TestLeaveAlone(t *testing.T) {
	t.Parallel()
	quiet := time.Date(2026, 3, 1, 12, 0, 40, 0, time.UTC)
	state := journal.State{Open: []journal.OpenStep{
		{Begun: journal.Begun{Step: "a", VMID: 201, TaskVMID: 900}},
		{Begun: journal.Begun{Step: "b", VMID: 202}},
	}}
	tests := map[string]struct {
		now  time.Time
		want []int
	}{
		"before": {quiet.Add(-time.Second), []int{204}},
		"after":  {quiet, []int{201, 202, 203, 204}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			work := map[object.Key]queue.Work{
				object.Guest(201): {},
				object.Guest(202): {},
				object.Guest(203): {Holds: []object.Key{object.Guest(203), object.Guest(900)}}, // a clone of the same template
				object.Guest(204): {Holds: []object.Key{object.Guest(204)}},
			}
			e := &Engine{opts: Options{Quiet: quiet}}
			e.leaveAlone(work, state, tt.now)
			var got []int
			for key := range maps.Keys(work) {
				got = append(got, key.VMID)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("work (-want +got):\n%s", diff)
			}
		})
	}
}
