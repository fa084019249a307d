package reconcile

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/edge"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	boom := errors.New("boom")
	tests := map[string]struct {
		failures int // before
		err      error
		op       cluster.Op
		want     time.Duration // minimum; jitter adds at most a fifth
	}{
		"first":               {0, boom, cluster.OpConfig, 5 * time.Second},
		"second":              {1, boom, cluster.OpConfig, 10 * time.Second},
		"sixth":               {5, boom, cluster.OpConfig, 160 * time.Second},
		"bounded":             {6, boom, cluster.OpConfig, 5 * time.Minute},
		"bounded_for_ever":    {1 << 40, boom, cluster.OpConfig, 5 * time.Minute},
		"locked":              {0, fmt.Errorf("config: %w", cluster.ErrLocked), cluster.OpConfig, 5 * time.Second},
		"denied":              {0, fmt.Errorf("config: %w", cluster.ErrDenied), cluster.OpConfig, 30 * time.Minute},
		"denied_again":        {9, fmt.Errorf("config: %w", cluster.ErrDenied), cluster.OpConfig, 30 * time.Minute},
		"invalid":             {0, fmt.Errorf("config: %w", cluster.ErrInvalid), cluster.OpConfig, 5 * time.Second},
		"invalid_again":       {3, fmt.Errorf("config: %w", cluster.ErrInvalid), cluster.OpConfig, 30 * time.Minute},
		"destroy_is_refused":  {3, &cluster.TaskError{Exit: "base volume 'a' is still in use by linked cloned", Err: cluster.ErrInvalid}, cluster.OpDestroy, 30 * time.Minute},
		"start_lacks_volume":  {0, &cluster.TaskError{Exit: "volume 'a' does not exist", Err: cluster.ErrInvalid}, cluster.OpStart, 5 * time.Second},
		"restart_fails":       {0, &cluster.TaskError{Exit: "got timeout"}, cluster.OpReboot, 5 * time.Minute},
		"restart_fails_again": {3, &cluster.TaskError{Exit: "got timeout"}, cluster.OpReboot, 30 * time.Minute},
		"move_is_not_begun":   {0, fmt.Errorf("move: %w", cluster.ErrLocked), cluster.OpMove, 5 * time.Second},
		"object_is_used":      {0, &cluster.UsedError{By: edge.Edge{Text: "rule 0 of guest 300 names it"}}, cluster.OpObjectRemove, 5 * time.Second},
		"object_stays_used":   {3, fmt.Errorf("object-remove: %w", &cluster.UsedError{By: edge.Edge{Text: "rule 0 of guest 300 names it"}}), cluster.OpObjectRemove, 30 * time.Minute},
		"changed":             {0, fmt.Errorf("config: %w", cluster.ErrConflict), cluster.OpConfig, 0},
		"changed_again":       {1, fmt.Errorf("config: %w", cluster.ErrConflict), cluster.OpConfig, 10 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for range 100 { // jitter is random
				b := backoff{failures: test.failures}.after(test.err, test.op, now)
				if got := b.until.Sub(now); got < test.want || got > test.want+test.want/5 {
					t.Fatalf("got a wait of %s, want %s and up to a fifth more", got, test.want)
				}
				if b.failures != test.failures+1 {
					t.Fatalf("got %d failures, want %d", b.failures, test.failures+1)
				}
				if test.want > 0 && b.over(b.until.Add(-1)) || !b.over(b.until) {
					t.Fatalf("got it over before %s, or not over then", b.until)
				}
			}
		})
	}
	if !(backoff{}).over(now) {
		t.Error("got a guest without trouble left alone, want it free")
	}
}
