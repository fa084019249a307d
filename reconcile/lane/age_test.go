package lane

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
)

// openJournal opens a journal until the returned function is called.
func openJournal(t *testing.T, dir string) (j *journal.Journal, closed func()) {
	t.Helper()
	j, err := journal.Open(journal.Options{Dir: filepath.Join(dir, "journal")})
	if err != nil {
		t.Fatal(err)
	}
	return j, func() {
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWaitsAddUp restarts the agent every few minutes while a call is in doubt. Each process has a bubble of its own, so the clock of the host begins at
// the same time again, and is set forward or not set before the process starts. The call is settled once the processes have waited for ten minutes together,
// not earlier and not later.
func TestWaitsAddUp(t *testing.T) {
	const life, tick = 4 * time.Minute, 15 * time.Second
	for _, op := range cluster.Ops() {
		if op.Late() != cluster.LateActs {
			continue
		}
		for name, clocks := range map[string][]time.Duration{ // by process: how far the clock of the host is ahead
			"steady": {0, life, 2 * life, 3 * life}, "forward": {0, time.Hour, 24 * time.Hour, 48 * time.Hour},
			"back": {24 * time.Hour, time.Hour, 30 * time.Minute, 0}, "both": {time.Hour, 0, 48 * time.Hour, time.Hour},
		} {
			t.Run(string(op)+"/"+name, func(t *testing.T) {
				dir := t.TempDir()
				var waited time.Duration
				for process, ahead := range clocks {
					synctest.Test(t, func(t *testing.T) {
						time.Sleep(ahead)
						j, closed := openJournal(t, dir)
						defer closed()
						if process == 0 { // it is killed between the intent and the reply
							begun := openStep(op, 0, 1, "").Begun
							if err := j.Append(t.Context(), begun); err != nil {
								t.Fatal(err)
							}
							return
						}
						w := New(Options{Cluster: nil, Journal: j})
						reader := &fixture.FakeReader{Answers: fixture.Answers{Taken: map[int]bool{201: true}, RunState: guest.StatusRunning, ObjectsByID: map[string]cluster.Object{"": {}}}}
						for range life / tick {
							open := j.State().Open[0]
							_, err := settle(t.Context(), reader, open, fixture.Owned201(), w.doubtAbout(open))
							if early := errors.Is(err, cluster.ErrUnanswered); early != (waited < lateTime) {
								t.Errorf("after %s: got error %v, want the step settled after %s", waited, err, lateTime)
							}
							time.Sleep(tick)
							waited += tick
							if err := w.NoteWaits(t.Context(), time.Minute); err != nil {
								t.Fatal(err)
							}
						}
						if got := j.State().Open[0].Waited; got != waited {
							t.Errorf("got %s in the journal, want %s", got, waited)
						}
					})
				}
			})
		}
	}
}

// TestWaitBeginsWithTheLastCall notes no wait while a call of a step may still be sent, so that the wait of the next process begins no earlier than the call.
func TestWaitBeginsWithTheLastCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, closed := openJournal(t, t.TempDir())
		defer closed()
		w := New(Options{Journal: j})
		waited := func() time.Duration {
			time.Sleep(5 * time.Minute)
			if err := w.NoteWaits(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			return j.State().Open[0].Waited
		}
		if err := j.Append(t.Context(), openStep(cluster.OpDestroy, 0, 1, "").Begun); err != nil {
			t.Fatal(err)
		}
		w.noteBegin("s")
		if got := waited(); got != 0 {
			t.Errorf("got %s while the call waits for its turn, want nothing", got)
		}
		w.noteSent("s")
		if got := w.doubtAbout(j.State().Open[0]).late; !got.Equal(time.Now().Add(lateTime)) {
			t.Errorf("got %s left after the call was sent, want %s", time.Until(got), lateTime)
		}
		w.noteReturned("s")
		if got := waited(); got != 5*time.Minute {
			t.Errorf("got %s after a call without a reply, want 5m", got)
		}
	})
}
