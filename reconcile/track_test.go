package reconcile

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/object"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// drift is an event about a guest that differs from its manifest, or did.
type drift struct {
	Name event.Name
	Of   report.DriftOutcome
}

// stoppedEngine returns an engine that does not run, and the drift that it tells.
func stoppedEngine(t *testing.T) (*Engine, *[]drift) {
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
	var reported []drift
	e := NewEngine(Options{Journal: j, Scope: intake.Scope{Cluster: "home"}, Hooks: Hooks{OnEvent: func(ev event.Event) {
		if o, is := ev.Outcome.(report.DriftOutcome); is {
			reported = append(reported, drift{ev.Name, o})
		}
	}}})
	e.basis.Store(&lane.Basis{Revision: "main@sha1:1"})
	return e, &reported
}

func TestNoteDrift(t *testing.T) {
	t.Parallel()
	ref := guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}
	changed := plan.Guest{Ref: ref, Changes: []guest.Change{{Key: "memory"}, {Key: "cores"}}}
	of := func(name event.Name) func(report.DriftCause) drift {
		return func(cause report.DriftCause) drift {
			return drift{name, report.DriftOutcome{Guest: ref, Cause: cause, Keys: []string{"memory", "cores"}}}
		}
	}
	found, mended := of(event.GuestDrifted), of(event.GuestRepaired)
	tests := map[string]struct {
		resumed bool
		syncs   []report.Sync
		revised int // the read before which a new revision came into force; 0 means none
		want    []drift
	}{
		"in_sync_for_ever":    {syncs: []report.Sync{report.Synced, report.Synced}},
		"new_guest":           {syncs: []report.Sync{report.OutOfSync, report.OutOfSync, report.Synced}, want: []drift{found(report.DriftRevision), mended(report.DriftRevision)}},
		"edited_by_hand":      {syncs: []report.Sync{report.Synced, report.OutOfSync, report.Synced}, want: []drift{found(report.DriftCluster), mended(report.DriftCluster)}},
		"unknown_after_start": {resumed: true, syncs: []report.Sync{report.OutOfSync, report.Synced}}, // the revision may never have been applied
		"edited_after_start": {
			resumed: true, syncs: []report.Sync{report.OutOfSync, report.Synced, report.OutOfSync, report.Synced}, want: []drift{found(report.DriftCluster), mended(report.DriftCluster)},
		},
		"edited_then_revised":  {syncs: []report.Sync{report.Synced, report.OutOfSync, report.Synced}, revised: 2, want: []drift{found(report.DriftCluster), mended(report.DriftCluster)}},
		"revision_wants_more":  {syncs: []report.Sync{report.Synced, report.OutOfSync, report.Synced}, revised: 1, want: []drift{found(report.DriftRevision), mended(report.DriftRevision)}},
		"doubt_is_no_drift":    {syncs: []report.Sync{report.Synced, report.SyncUnknown, report.Synced}},
		"doubt_hides_no_drift": {syncs: []report.Sync{report.Synced, report.SyncUnknown, report.OutOfSync}, want: []drift{found(report.DriftCluster)}},
		"doubt_repairs_none":   {syncs: []report.Sync{report.Synced, report.OutOfSync, report.SyncUnknown, report.OutOfSync}, want: []drift{found(report.DriftCluster)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e, reported := stoppedEngine(t)
			e.revision.force.Resumed = test.resumed
			tr := e.track(ref)
			for i, sync := range test.syncs {
				if test.revised != 0 && i == test.revised {
					e.basis.Store(&lane.Basis{Revision: "main@sha1:2"})
				}
				e.noteDrift(tr, changed, sync, time.Now())
			}
			if diff := cmp.Diff(test.want, *reported); diff != "" {
				t.Errorf("drift differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoteDriftKeepsTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, _ := stoppedEngine(t)
		tr := e.track(guest.Ref{VMID: 201})
		start := time.Now()
		for _, sync := range []report.Sync{report.Synced, report.OutOfSync, report.OutOfSync, report.SyncUnknown} {
			e.noteDrift(tr, plan.Guest{}, sync, time.Now())
			time.Sleep(time.Minute)
		}
		if !tr.convergedAt.Equal(start) || !tr.driftSince().Equal(start.Add(time.Minute)) || tr.revision != "main@sha1:1" {
			t.Errorf("got converged %s with %s, drifting since %s, want the first and the second read", tr.convergedAt, tr.revision, tr.driftSince())
		}
		e.noteDrift(tr, plan.Guest{}, report.Synced, time.Now())
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
	e, _ := stoppedEngine(t)
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
	e, _ := stoppedEngine(t)
	doubt := errors.New("log entry is from a log that the trusted root does not trust")
	e.take(t.Context(), intake.Polled{Err: errors.New("keep 0123456: no space left on device"), InForce: intake.InForce{Unverified: doubt}})
	if stop, why := e.lease.Plan(&e.revision, &e.readings); stop != reason.StopUnverified || why != doubt.Error() {
		t.Errorf("got %s: %s, want %s: %s", stop, why, reason.StopUnverified, doubt)
	}
}
