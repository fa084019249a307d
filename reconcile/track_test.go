package reconcile

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// stoppedEngine returns an engine that does not run.
func stoppedEngine(t *testing.T) *Engine {
	t.Helper()
	j, err := journal.Open(journal.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	e := NewEngine(Options{Journal: j, Scope: intake.Scope{Cluster: "home"}})
	e.basis.Store(&lane.Basis{Revision: "main@sha1:1"})
	return e
}

func TestNoteDriftKeepsTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := stoppedEngine(t)
		tr := e.track(guest.Ref{VMID: 201})
		start := time.Now()
		note := func(sync report.Sync, drifted ...string) {
			tr.now = assessment{sync: sync, outstanding: plan.Outstanding{Drifted: drifted}}
			e.noteDrift(tr, plan.Guest{}, time.Now())
		}
		note(report.Synced)
		for _, sync := range []report.Sync{report.OutOfSync, report.OutOfSync, report.SyncUnknown} {
			time.Sleep(time.Minute)
			note(sync, "memory")
		}
		if !tr.convergedAt.Equal(start) || !tr.driftSince().Equal(start.Add(time.Minute)) || tr.revision != "main@sha1:1" {
			t.Errorf("got converged %s with %s, drifting since %s, want the first and the second read", tr.convergedAt, tr.revision, tr.driftSince())
		}
		time.Sleep(time.Minute)
		note(report.Synced)
		if !tr.driftSince().IsZero() || !tr.convergedAt.Equal(start.Add(4*time.Minute)) {
			t.Errorf("got drifting since %s and converged %s after the repair, want no drift", tr.driftSince(), tr.convergedAt)
		}
	})
}

// TestTrackBegan checks that a condition keeps the time of its beginning as long as it exists without a break.
func TestTrackBegan(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tr := &track{since: make(map[string]time.Time)}
	cycle := func(minutes int, ids ...string) map[string]time.Time {
		seen := make(map[string]time.Time)
		for _, id := range ids {
			tr.began(id, start.Add(time.Duration(minutes)*time.Minute), seen)
		}
		tr.since = seen
		return seen
	}
	cycle(0, "Drifted/differs")
	cycle(1, "Drifted/differs", "Held/approval")
	cycle(2, "Held/approval")
	got := cycle(3, "Drifted/differs", "Held/approval")
	want := map[string]time.Time{"Drifted/differs": start.Add(3 * time.Minute), "Held/approval": start.Add(time.Minute)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("times differ (-want +got):\n%s", diff)
	}
}

// TestTrackKeys checks that a guest keeps its track when its label changes, and that the label identifies a guest without a vmid.
func TestTrackKeys(t *testing.T) {
	t.Parallel()
	e := stoppedEngine(t)
	web := e.track(guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201})
	if e.track(guest.Ref{Kind: guest.VirtualMachine, Name: "www-1", VMID: 201}) != web {
		t.Error("got another track for another label of vmid 201, want the same")
	}
	fresh := e.track(guest.Ref{Kind: guest.VirtualMachine, Name: "new-1"})
	if e.track(guest.Ref{Kind: guest.Container, Name: "new-1"}) == fresh {
		t.Error("got one track for two guests without vmids, want two")
	}
	e.forgetTracks(plan.Plan{Guests: []plan.Guest{{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "new-1"}}}})
	if len(e.tracks) != 1 || e.track(guest.Ref{Kind: guest.VirtualMachine, Name: "new-1"}) != fresh {
		t.Errorf("got %d tracks after the others left the plan, want the one that stayed", len(e.tracks))
	}
}

// TestClearFailures checks that a new revision ends the backoff of a failure, because the change may work under the new revision. A guest that flaps
// goes on flapping.
func TestClearFailures(t *testing.T) {
	t.Parallel()
	now := time.Now()
	tr := &track{convergedAt: now, failed: errors.New("boom"), failedStep: plan.Step{Op: cluster.OpConfig}, retry: backoff{}.after(cluster.ErrDenied, cluster.OpConfig, now)}
	for range 20 {
		tr.flaps = tr.flaps.add(now, 1)
	}
	clearFailures(map[object.Key]*track{object.Guest(201): tr})
	if tr.failed != nil || tr.failedStep.Op != "" || !tr.retry.over(now) || !tr.flaps.overLimit(now) || !tr.convergedAt.Equal(now) {
		t.Errorf("got %+v, want a guest that may be tried again at once, and everything else as it was", tr)
	}
}

// TestFailedPollStopsWritesOfAnUnverifiedRevision makes a poll fail after it found that the revision in force no longer verifies. The writes stop
// nevertheless.
func TestFailedPollStopsWritesOfAnUnverifiedRevision(t *testing.T) {
	t.Parallel()
	e := stoppedEngine(t)
	doubt := errors.New("log entry is from a log that the trusted root does not trust")
	e.take(t.Context(), intake.Polled{Err: errors.New("keep 0123456: no space left on device"), InForce: intake.InForce{Unverified: doubt}})
	if stop, why := e.lease.Plan(&e.revision, &e.readings); stop != reason.StopUnverified || why != doubt.Error() {
		t.Errorf("got %s: %s, want %s: %s", stop, why, reason.StopUnverified, doubt)
	}
}
