package lane

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
)

// nodes is a cluster that only tells the uptime of its nodes.
type nodes struct {
	cluster.Cluster
	reader *fixture.FakeReader
}

func (n nodes) Uptime(ctx context.Context, node string) (time.Duration, error) {
	return n.reader.Uptime(ctx, node)
}

// TestNodeClock asks the node of a step of an earlier process, or of this one, how long it has been up. Each case is a moment at which the doubt is over, or
// not yet.
func TestNodeClock(t *testing.T) {
	const day = 24 * time.Hour
	tests := map[string]struct {
		waited, uptime, at time.Duration // in the journal
		here               bool          // this process sent the call
		open               time.Duration // in this process
		up                 time.Duration // the node, at that moment
		calls              int
		err                error
		want               time.Duration // left of the wait; 0 if nothing is in doubt
	}{
		"nothing_journaled":               {open: time.Minute, up: day, want: 9 * time.Minute},
		"downtime_shown":                  {waited: 2 * time.Minute, uptime: day, at: time.Minute, open: time.Second, up: day + 5*time.Minute, want: 4*time.Minute + time.Second},
		"downtime_of_an_hour":             {waited: time.Minute, uptime: day, at: time.Minute, open: time.Second, up: day + time.Hour, want: -51*time.Minute + time.Second},
		"journal_knows_more":              {waited: 8 * time.Minute, uptime: day, at: time.Minute, open: time.Second, up: day + 5*time.Minute, want: 2*time.Minute - time.Second},
		"node_does_not_answer":            {waited: time.Minute, uptime: day, at: time.Minute, open: time.Second, up: 0, err: cluster.ErrNotReady, want: 9*time.Minute - time.Second},
		"booted_after_the_process_before": {waited: time.Minute, uptime: day, at: time.Minute, open: time.Second, up: 5 * time.Second},
		"booted_too_early_to_say":         {waited: 30 * time.Second, uptime: day, at: 30 * time.Second, open: time.Second, up: 5 * time.Second, want: 10*time.Minute - 31*time.Second},
		"booted_since_the_start":          {open: 3 * time.Minute, up: 2 * time.Minute},
		"booted_with_the_agent":           {open: 3 * time.Minute, up: 3*time.Minute - 30*time.Second, want: 7 * time.Minute},
		"booted_before_the_start":         {open: 3 * time.Minute, up: 4 * time.Minute, want: 7 * time.Minute},
		"booted_after_the_call":           {here: true, open: 3 * time.Minute, up: time.Minute},
		"not_booted_after_the_call":       {here: true, open: 3 * time.Minute, up: 5 * time.Minute, want: 7 * time.Minute},
		"booted_before_another_call":      {here: true, open: 3 * time.Minute, up: time.Minute, calls: 2, want: 7 * time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j, closed := openJournal(t, t.TempDir())
				defer closed()
				records := []journal.Body{openStep(cluster.OpShutdown, 0, max(test.calls, 1), "").Begun}
				if test.waited > 0 {
					records = append(records, journal.Waited{Step: "s", Seconds: int64(test.waited.Seconds()), Uptime: int64(test.uptime.Seconds()), UptimeAt: int64(test.at.Seconds())})
				}
				if err := j.Append(t.Context(), records...); err != nil {
					t.Fatal(err)
				}
				reader := &fixture.FakeReader{}
				w := New(Options{Journal: j, Cluster: nodes{reader: reader}})
				if test.here {
					w.noteBegin("s")
				}
				time.Sleep(test.open)
				reader.Booted, reader.UptimeErr = time.Now().Add(-test.up), test.err
				open := j.State().Open[0]
				about := w.askNode(t.Context(), open, w.doubtAbout(open))
				if test.want == 0 != about.late.IsZero() || test.want != 0 && time.Until(about.late) != test.want {
					t.Errorf("got %s left, in doubt %t, want %s", time.Until(about.late), !about.late.IsZero(), test.want)
				}
			})
		})
	}
}

// TestShortRunsAddUp runs the agent for seconds every two minutes, as `run --once` in a timer does. The first run is killed at once. The uptime of the node
// shows the time between the runs, so the doubt is over after ten minutes and not after a hundred runs, also with a wrong clock of the host.
func TestShortRunsAddUp(t *testing.T) {
	const every, life = 2 * time.Minute, 5 * time.Second
	for name, ahead := range map[string][]time.Duration{
		"steady": {0, 0, 0, 0, 0, 0, 0, 0}, "steps": {time.Hour, 0, 48 * time.Hour, time.Minute, 0, 24 * time.Hour, 0, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for run, by := range ahead {
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(by)
					j, closed := openJournal(t, dir)
					defer closed()
					if run == 0 {
						if err := j.Append(t.Context(), openStep(cluster.OpStop, 0, 1, "").Begun); err != nil {
							t.Fatal(err)
						}
						return
					}
					reader := &fixture.FakeReader{Answers: fixture.Answers{Taken: map[int]bool{201: true}, RunState: "running"}}
					reader.Booted = time.Now().Add(-time.Hour - time.Duration(run)*every)
					w := New(Options{Journal: j, Cluster: nodes{reader: reader}})
					open := j.State().Open[0]
					_, err := settle(t.Context(), reader, open, fixture.Owned201(), w.askNode(t.Context(), open, w.doubtAbout(open)))
					passed := time.Duration(run-1) * every
					if early := errors.Is(err, cluster.ErrUnanswered); early != (passed <= lateTime) { // the uptime is in whole seconds
						t.Errorf("%s after the first look: got error %v, want the step settled after %s", passed, err, lateTime)
					}
					time.Sleep(life)
					if err := w.NoteWaits(t.Context(), time.Second); err != nil {
						t.Fatal(err)
					}
				})
			}
		})
	}
}
